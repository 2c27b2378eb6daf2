// GEMM as plain data: its bytes and work are known from the definition.
#include "poas/gemm.hpp"

#include <gtest/gtest.h>

#include "poas/error.hpp"

namespace poas {
namespace {

TEST(GemmOperation, WorkAndBytesOfABlock) {
  const Operation op = gemm_operation(100, 200, 300, Type::fp32, Precision::fp32, 'N', 't', Update::overwrite);
  EXPECT_NO_THROW(validate(op));
  EXPECT_EQ(op.name, "gemm");
  EXPECT_EQ(op.variant, "NT");
  EXPECT_EQ(work(op, extents_of(op)), 2.0 * 100 * 200 * 300);
  Box box = whole_box(op);
  box[0] = {10, 40};
  box[1] = {0, 50};
  EXPECT_EQ(bytes(op.operands[0], box), 4.0 * 30 * 300);
  EXPECT_EQ(bytes(op.operands[1], box), 4.0 * 50 * 300);
  EXPECT_EQ(bytes(op.operands[2], box), 4.0 * 30 * 50);
  // B is 200 x 300: its rows follow n.
  EXPECT_EQ(footprint(op.operands[1], box)[0], (Range{0, 50}));
  EXPECT_EQ(footprint(op.operands[1], box)[1], (Range{0, 300}));
}

TEST(GemmOperation, RowsAndColumnsMayBeCutTheInnerSizeNot) {
  for (char ta : {'N', 'T'})
    for (char tb : {'N', 'T'}) {
      const Operation op = gemm_operation(8, 9, 10, Type::fp64, Precision::fp64, ta, tb, Update::accumulate);
      EXPECT_TRUE(can_cut(op, 0));
      EXPECT_TRUE(can_cut(op, 1));
      EXPECT_FALSE(can_cut(op, 2));
      EXPECT_EQ(op.operands[2].access, Access::read_write);
    }
}

TEST(GemmOperation, ImplementationsKeepThePrecisionOfTheirType) {
  for (Type type : {Type::fp64, Type::fp32, Type::fp16, Type::bf16}) {
    const Operation op = gemm_operation(1, 1, 1, type, precision_of(type), 'N', 'N', Update::overwrite);
    EXPECT_EQ(op.precision, precision_of(type));
    bool cpu = false, tensor = false;
    for (const Implementation& one : op.implementations) {
      cpu |= one.kind == UnitKind::cpu;
      tensor |= one.kind == UnitKind::tensor;
      const bool tf32 = type == Type::fp32 && one.kind == UnitKind::tensor;
      EXPECT_EQ(one.precision, tf32 ? Precision::tf32 : precision_of(type)) << one.name;
    }
    EXPECT_TRUE(cpu && tensor) << to_string(type);
  }
}

TEST(GemmOperation, RefusesWhatNoTaskCanBe) {
  const auto made = [](std::uint64_t m, Type type, Precision precision, char transa) {
    return gemm_operation(m, 1, 1, type, precision, transa, 'N', Update::overwrite);
  };
  EXPECT_THROW(made(0, Type::fp32, Precision::fp32, 'N'), Error);
  EXPECT_THROW(made(1ull << 32, Type::fp32, Precision::fp32, 'N'), Error);
  EXPECT_THROW(made(1, Type::fp32, Precision::fp32, 'C'), Error);
  EXPECT_THROW(made(1, Type::fp64, Precision::fp32, 'N'), Error);
  EXPECT_THROW(made(1, Type::fp32, Precision::fp16, 'N'), Error);
  EXPECT_NO_THROW(made(1, Type::fp32, Precision::tf32, 'N'));
}

}  // namespace
}  // namespace poas

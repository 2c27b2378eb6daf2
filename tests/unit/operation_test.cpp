// Extents, work, footprints and bytes of operations, against numbers worked out by hand.
#include "poas/operation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "poas/error.hpp"
#include "poas/plan.hpp"

namespace poas {
namespace {

// C(m,n) += A(m,k) B(k,n), column major.
Operation product(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Operation operation;
  operation.name = "product";
  operation.dims = {{"m", m, true}, {"n", n, true}, {"k", k, false}};
  operation.work_per_point = 2;
  operation.operands = {
      {Access::read, 4, {{Follow::split, 0, m, 0, 0}, {Follow::reduced, 2, k, 0, 0}}},
      {Access::read, 4, {{Follow::reduced, 2, k, 0, 0}, {Follow::split, 1, n, 0, 0}}},
      {Access::read_write, 4, {{Follow::split, 0, m, 0, 0}, {Follow::split, 1, n, 0, 0}}}};
  return operation;
}

// y[i] from x[i - before .. i + after].
Operation stencil(std::uint64_t points, std::uint64_t inputs, std::uint64_t before, std::uint64_t after) {
  Operation operation;
  operation.name = "stencil";
  operation.dims = {{"i", points, true}};
  operation.operands = {{Access::read, 8, {{Follow::halo, 0, inputs, before, after}}},
                        {Access::write, 8, {{Follow::split, 0, points, 0, 0}}}};
  return operation;
}

Box block(const Operation& operation, std::size_t dim, std::uint64_t begin, std::uint64_t end) {
  Box box = whole_box(operation);
  box[dim] = {begin, end};
  return box;
}

TEST(Operation, RoundOffOrdersTheClasses) {
  EXPECT_EQ(round_off(Precision::fp64), std::ldexp(1.0, -53));
  EXPECT_EQ(round_off(Precision::fp32), std::ldexp(1.0, -24));
  EXPECT_EQ(round_off(Precision::tf32), std::ldexp(1.0, -11));
  EXPECT_EQ(round_off(Precision::fp16), std::ldexp(1.0, -11));
  EXPECT_EQ(round_off(Precision::bf16), std::ldexp(1.0, -8));
}

TEST(Operation, ExtentsAndWork) {
  const Operation operation = product(3, 5, 7);
  const Extents extents = extents_of(operation);
  EXPECT_EQ(extents, (Extents{3, 5, 7, 1, 1, 1, 1, 1}));
  EXPECT_EQ(extents_of(whole_box(operation)), extents);
  EXPECT_EQ(work(operation, extents), 210);
  EXPECT_EQ(work(operation, extents_of(block(operation, 1, 2, 4))), 84);
}

TEST(Operation, WorkAndBytesBeyond32Bits) {
  const std::uint64_t n = 1ull << 20;
  const Operation operation = product(n, n, n);
  EXPECT_EQ(work(operation, extents_of(operation)), std::ldexp(1.0, 61));
  EXPECT_EQ(bytes(operation.operands[0], whole_box(operation)), std::ldexp(1.0, 42));
}

TEST(Operation, FootprintFollowsTheBlock) {
  const Operation operation = product(3, 5, 7);
  const Box box = block(operation, 1, 2, 4);
  EXPECT_EQ(footprint(operation.operands[0], box), (std::vector<Range>{{0, 3}, {0, 7}}));
  EXPECT_EQ(footprint(operation.operands[1], box), (std::vector<Range>{{0, 7}, {2, 4}}));
  EXPECT_EQ(footprint(operation.operands[2], box), (std::vector<Range>{{0, 3}, {2, 4}}));
  EXPECT_EQ(bytes(operation.operands[1], box), 4 * 7 * 2);
  EXPECT_EQ(bytes(operation, box), 4 * (3 * 7 + 7 * 2 + 3 * 2));
}

TEST(Operation, ReducedAxisIsNeededWhole) {
  const Operation operation = product(3, 5, 7);
  EXPECT_EQ(footprint(operation.operands[0], block(operation, 2, 1, 2))[1], (Range{0, 7}));
}

TEST(Operation, HaloIsClippedToTheOperand) {
  const Operation same = stencil(10, 10, 2, 1);
  EXPECT_EQ(footprint(same.operands[0], block(same, 0, 0, 4))[0], (Range{0, 5}));
  EXPECT_EQ(footprint(same.operands[0], block(same, 0, 4, 7))[0], (Range{2, 8}));
  EXPECT_EQ(footprint(same.operands[0], block(same, 0, 7, 10))[0], (Range{5, 10}));
  const Operation valid = stencil(8, 10, 0, 2);
  EXPECT_EQ(footprint(valid.operands[0], block(valid, 0, 5, 8))[0], (Range{5, 10}));
}

TEST(Operation, HaloOfAllThatThereIsDoesNotOverflow) {
  const Operation wide = stencil(10, 10, ~0ull, ~0ull);
  EXPECT_EQ(footprint(wide.operands[0], block(wide, 0, 3, 4))[0], (Range{0, 10}));
}

TEST(Operation, EmptyBlockTouchesNothingOfWhatFollowsIt) {
  const Operation operation = stencil(10, 10, 2, 1);
  EXPECT_EQ(bytes(operation, block(operation, 0, 4, 4)), 0);
}

TEST(Operation, CutsOnlyWhatIsSound) {
  Operation operation = product(3, 5, 7);
  EXPECT_TRUE(can_cut(operation, 0));
  EXPECT_TRUE(can_cut(operation, 1));
  std::string why;
  EXPECT_FALSE(can_cut(operation, 2, &why));
  EXPECT_NE(why.find("not declared cuttable"), std::string::npos) << why;
  operation.dims[2].cuttable = true;
  EXPECT_FALSE(can_cut(operation, 2, &why));
  EXPECT_NE(why.find("operand 0 is reduced over it"), std::string::npos) << why;
  EXPECT_FALSE(can_cut(operation, 3, &why));
  EXPECT_FALSE(can_cut(operation, -1, &why));
  const Operation row = product(1, 5, 7);
  EXPECT_FALSE(can_cut(row, 0, &why));
  EXPECT_NE(why.find("extent 1"), std::string::npos) << why;
}

TEST(Operation, DoesNotCutWhatAnOutputDoesNotFollow) {
  Operation operation = product(3, 5, 7);
  operation.operands.push_back({Access::write, 4, {{Follow::split, 0, 3, 0, 0}}});
  std::string why;
  EXPECT_TRUE(can_cut(operation, 0));
  EXPECT_FALSE(can_cut(operation, 1, &why));
  EXPECT_NE(why.find("operand 3 is written but does not follow it"), std::string::npos) << why;
  operation.operands[3].axes.push_back({Follow::split, 0, 3, 0, 0});
  EXPECT_FALSE(can_cut(operation, 0, &why));
  EXPECT_NE(why.find("more than one axis"), std::string::npos) << why;
}

TEST(Operation, ValidateNamesTheField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<const char*, std::function<void(Operation&)>>> cases = {
      {"dims has 0", [](Operation& o) { o.dims.clear(); }},
      {"dims has 9", [](Operation& o) { o.dims.resize(9); }},
      {"dims[1].extent", [](Operation& o) { o.dims[1].extent = 0; }},
      {"dims[0].extent", [](Operation& o) { o.dims[0].extent = 1ull << 32; }},
      {"operands[2].element_bytes", [](Operation& o) { o.operands[2].element_bytes = 0; }},
      {"operands[0].axes[1].extent", [](Operation& o) { o.operands[0].axes[1].extent = 0; }},
      {"operands[0].axes[0].dim", [](Operation& o) { o.operands[0].axes[0].dim = 3; }},
      {"operands[0].axes[0].dim", [](Operation& o) { o.operands[0].axes[0].dim = -1; }},
      {"operands[2].axes[1].extent", [](Operation& o) { o.operands[2].axes[1].extent = 4; }},
      {"operands[2].axes[0].follow", [](Operation& o) { o.operands[2].axes[0].follow = Follow::halo; }},
      {"operands[0] has more than 2^63 bytes",
       [](Operation& o) { o.operands[0].axes[1].extent = 1ull << 62; }},
      {"work_per_point", [nan](Operation& o) { o.work_per_point = nan; }},
      {"work_per_point", [](Operation& o) { o.work_per_point = -1; }},
      {"work_per_point", [](Operation& o) { o.work_per_point = 1e308; }},
      {"implementations[0]", [](Operation& o) { o.implementations.resize(1); }}};
  EXPECT_NO_THROW(validate(product(3, 5, 7)));
  EXPECT_NO_THROW(validate(stencil(8, 10, 0, 2)));
  for (const auto& [field, spoil] : cases) {
    Operation operation = product(3, 5, 7);
    spoil(operation);
    try {
      validate(operation);
      ADD_FAILURE() << field << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid);
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    }
  }
}

TEST(Names, AreReadBack) {
  for (const Type type : {Type::fp64, Type::fp32, Type::fp16, Type::bf16})
    EXPECT_EQ(type_from_string(to_string(type)), type);
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    EXPECT_EQ(precision_from_string(to_string(precision)), precision);
  for (const UnitKind kind : {UnitKind::cpu, UnitKind::cuda, UnitKind::tensor, UnitKind::opencl})
    EXPECT_EQ(unit_kind_from_string(to_string(kind)), kind);
  for (const SplitMode mode : {SplitMode::automatic, SplitMode::never, SplitMode::always})
    EXPECT_EQ(split_mode_from_string(to_string(mode)), mode);
  EXPECT_EQ(split_mode_from_string("auto"), SplitMode::automatic);
  EXPECT_EQ(objective_from_string("time"), Objective::time);
  EXPECT_STREQ(to_string(SolveStatus::time_limit), "time_limit");
}

TEST(Names, UnknownWordsListTheKnownOnes) {
  try {
    precision_from_string("half");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown precision \"half\": use one of fp64, fp32, tf32, fp16, bf16");
  }
  EXPECT_THROW(type_from_string(""), Error);
  EXPECT_THROW(unit_kind_from_string("gpu"), Error);
  EXPECT_THROW(objective_from_string("speed"), Error);
  EXPECT_THROW(split_mode_from_string("Auto"), Error);
}

TEST(LinesOf, TellsLengthAndPitchOfANarrowPart) {
  // 5000 x 30 of 4 bytes: lines of 20,000 bytes.
  Operand operand{Access::read, 4, {{Follow::split, 0, 5000}, {Follow::split, 1, 30}}};
  Box box{};
  box[0] = {0, 100}, box[1] = {10, 30};
  EXPECT_EQ(lines_of(operand, box).length, 400);
  EXPECT_EQ(lines_of(operand, box).pitch, 20000);
  box[1] = {10, 11};
  EXPECT_EQ(lines_of(operand, box).length, 0) << "one line lies together";
  box[0] = {0, 5000}, box[1] = {10, 30};
  EXPECT_EQ(lines_of(operand, box).length, 0) << "whole lines lie together";
  operand.axes.clear();
  EXPECT_EQ(lines_of(operand, box).length, 0);
}

}  // namespace
}  // namespace poas

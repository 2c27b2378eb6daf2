// A GEMM as plain data, from the tables that describe the tasks.
#include <cstdint>
#include <initializer_list>

#include "gemm_describe.hpp"
#include "gemm_table.hpp"
#include "poas/error.hpp"
#include "poas/gemm.hpp"

namespace poas {
namespace {

using codelets::GemmShape;

constexpr Type types[] = {Type::fp64, Type::fp32, Type::fp16, Type::bf16};
constexpr poas_type raw_types[] = {POAS_FP64, POAS_FP32, POAS_FP16, POAS_BF16};

poas_precision raw(Precision precision) {
  switch (precision) {
    case Precision::fp64: return POAS_CLASS_FP64;
    case Precision::fp32: return POAS_CLASS_FP32;
    case Precision::tf32: return POAS_CLASS_TF32;
    case Precision::fp16: return POAS_CLASS_FP16;
    case Precision::bf16: return POAS_CLASS_BF16;
  }
  return POAS_CLASS_DEFAULT;
}

Precision precision_of_class(poas_precision precision, Type type) {
  for (Precision one : {Precision::fp64, Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    if (raw(one) == precision) return one;
  return precision_of(type);
}

Implementation implementation_of(const poas_implementation& raw_one, Type type) {
  constexpr UnitKind kinds[] = {UnitKind::cpu, UnitKind::cuda, UnitKind::tensor, UnitKind::opencl};
  Implementation one;
  one.name = raw_one.name;
  one.kind = kinds[raw_one.unit];
  one.nimpl = raw_one.nimpl;
  one.precision = precision_of_class(raw_one.precision, type);
  for (int d = 0; d < max_dims; ++d) {
    one.multiple[d] = raw_one.multiple[d] ? raw_one.multiple[d] : 1;
    one.least[d] = raw_one.least[d] ? raw_one.least[d] : 1;
  }
  return one;
}

Follow follow_of(poas_follow follow) {
  constexpr Follow follows[] = {Follow::replicated, Follow::split, Follow::halo, Follow::reduced};
  return follows[follow];
}

Operand operand_of(const poas_operand& raw_one, const poas_operation& raw_operation, Access access) {
  Operand operand;
  operand.access = access;
  operand.element_bytes = static_cast<std::uint32_t>(codelets::bytes_of(raw_operation.type));
  for (unsigned i = 0; i < raw_one.naxes; ++i) {
    const poas_axis& axis = raw_one.axis[i];
    operand.axes.push_back({follow_of(axis.follow), static_cast<int>(axis.dim),
                            raw_operation.extent[axis.dim], axis.before, axis.after});
  }
  return operand;
}

poas_operation described(const poas_gemm_args& args, const GemmShape& shape) {
  if (const char* fault = codelets::fault_of(args)) throw Error(Errc::invalid, fault);
  for (std::uint64_t extent : {shape.m, shape.n, shape.k})
    if (extent == 0 || extent > UINT32_MAX)
      throw Error(Errc::invalid, "gemm: a size is 0 or over 2^32 - 1, which no matrix handle can have: pass "
                                 "sizes between");
  poas_operation operation{};
  codelets::fill_gemm(args, shape, operation);
  return operation;
}

}  // namespace

Operation gemm_operation(std::uint64_t m, std::uint64_t n, std::uint64_t k, Type type, Precision precision,
                         char transa, char transb, Update update) {
  const poas_gemm_args args{POAS_GEMM_VERSION, raw_types[static_cast<int>(type)], transa, transb, 1,
                            update == Update::overwrite ? 0.0 : 1.0, raw(precision)};
  const poas_operation raw_operation = described(args, {m, n, k});
  const poas_divisible& divisible = *poas_gemm_divisible();
  Operation operation;
  operation.name = divisible.name;
  operation.variant = raw_operation.variant;
  operation.type = type;
  operation.precision = precision_of_class(raw_operation.precision, type);
  operation.work_per_point = raw_operation.work_per_point;
  for (unsigned d = 0; d < divisible.ndims; ++d)
    operation.dims.push_back({divisible.dim_name[d], raw_operation.extent[d], (divisible.cuttable >> d & 1) != 0});
  const Access access_of_c = update == Update::overwrite ? Access::write : Access::read_write;
  for (unsigned i = 0; i < 3; ++i)
    operation.operands.push_back(operand_of(raw_operation.operand[i], raw_operation,
                                            i == 2 ? access_of_c : Access::read));
  for (const poas_implementation& one : codelets::all_gemm_implementations())
    if (types[one.type] == type) operation.implementations.push_back(implementation_of(one, type));
  return operation;
}

}  // namespace poas

#include "gemm_table.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include "gemm_describe.hpp"
#include "gemm_kernels.hpp"
#include "poas/operation.hpp"
#include "poas/runtime.hpp"

namespace poas::codelets {
namespace {

using Offered = int (*)(const poas_operation*, int, const char**);

// StarPU cannot place matrices without elements on a device.
int device_offered(const poas_operation* operation, int, const char** why) noexcept {
  if (!operation || !scales_only(*operation)) return 1;
  *why = "the inner size is 0: the CPU scales C";
  return 0;
}

int tensor_offered(const poas_operation* operation, int workerid, const char** why) noexcept {
  return device_offered(operation, workerid, why) && tensor_cores_offered(workerid, why);
}

int half_offered(const poas_operation* operation, int workerid, const char** why) noexcept {
  return device_offered(operation, workerid, why) && half_tensor_cores_offered(workerid, why);
}

int opencl_double_offered(const poas_operation* operation, int workerid, const char** why) noexcept {
  return device_offered(operation, workerid, why) && opencl_fp64_offered(workerid, why);
}

poas_implementation entry(const char* name, poas_unit_kind unit, poas_type type, poas_precision precision,
                          unsigned nimpl, std::uint32_t multiple_m, std::uint32_t multiple_n,
                          Offered offered) {
  poas_implementation one{};
  one.name = name;
  one.unit = unit;
  one.type = type;
  one.precision = precision;
  one.nimpl = nimpl;
  one.multiple[0] = multiple_m;
  one.multiple[1] = multiple_n;
  one.offered = offered;
  return one;
}

// Multiples: the register tile of OpenBLAS, and half the tile in which GPU kernels cut C.
std::vector<poas_implementation> make_table() {
  const auto cpu = [](const char* name, poas_type type) {
    return entry(name, POAS_UNIT_CPU, type, class_of(type), gemm_nimpl_only, 16, 8, nullptr);
  };
  const auto cuda = [](const char* name, poas_type type) {
    return entry(name, POAS_UNIT_CUDA, type, class_of(type), gemm_nimpl_cuda_cores, 64, 64, device_offered);
  };
  const auto tensor = [](const char* name, poas_type type, poas_precision precision, Offered offered) {
    return entry(name, POAS_UNIT_TENSOR, type, precision, gemm_nimpl_tensor_cores, 128, 128, offered);
  };
  const auto opencl = [](const char* name, poas_type type, Offered offered) {
    return entry(name, POAS_UNIT_OPENCL, type, class_of(type), gemm_nimpl_only, 64, 64, offered);
  };
  return {
      cpu("openblas-fp64", POAS_FP64),
      cpu("openblas-fp32", POAS_FP32),
      cpu("openblas-fp16", POAS_FP16),
      cpu("openblas-bf16", POAS_BF16),
      cuda("cublas-fp64", POAS_FP64),
      cuda("cublas-fp32", POAS_FP32),
      tensor("cublas-fp64-tensor", POAS_FP64, POAS_CLASS_FP64, tensor_offered),
      tensor("cublas-tf32", POAS_FP32, POAS_CLASS_TF32, tensor_offered),
      tensor("cublas-fp16", POAS_FP16, POAS_CLASS_FP16, half_offered),
      tensor("cublas-bf16", POAS_BF16, POAS_CLASS_BF16, tensor_offered),
      opencl("clblast-fp64", POAS_FP64, opencl_double_offered),
      opencl("clblast-fp32", POAS_FP32, device_offered),
  };
}

bool is_built(const poas_implementation& one) {
  switch (one.unit) {
    case POAS_UNIT_CPU: return true;
    case POAS_UNIT_CUDA: return gemm_cuda_cores != nullptr;
    case POAS_UNIT_TENSOR: return gemm_tensor_cores != nullptr;
    case POAS_UNIT_OPENCL: return gemm_clblast != nullptr;
  }
  return false;
}

std::vector<poas_implementation> built_table() {
  std::vector<poas_implementation> built;
  std::ranges::copy_if(all_gemm_implementations(), std::back_inserter(built), is_built);
  return built;
}

bool runs_on(poas_unit_kind unit, starpu_worker_archtype arch) {
  switch (unit) {
    case POAS_UNIT_CPU: return arch == STARPU_CPU_WORKER;
    case POAS_UNIT_CUDA:
    case POAS_UNIT_TENSOR: return arch == STARPU_CUDA_WORKER;
    case POAS_UNIT_OPENCL: return arch == STARPU_OPENCL_WORKER;
  }
  return false;
}

Precision to_precision(poas_precision precision) {
  switch (precision) {
    case POAS_CLASS_FP64: return Precision::fp64;
    case POAS_CLASS_TF32: return Precision::tf32;
    case POAS_CLASS_FP16: return Precision::fp16;
    case POAS_CLASS_BF16: return Precision::bf16;
    case POAS_CLASS_DEFAULT:
    case POAS_CLASS_FP32: break;
  }
  return Precision::fp32;
}

// Read once: StarPU asks for every task and worker.
std::optional<Precision> precision_of_environment() {
  static const std::optional<Precision> precision = []() -> std::optional<Precision> {
    try {
      return request_from_environment().precision;
    } catch (const std::exception&) {
      return std::nullopt;  // the policy reports it
    }
  }();
  return precision;
}

double allowed_round_off(const poas_gemm_args& args) {
  const double own = round_off(to_precision(class_of(args)));
  if (args.precision != POAS_CLASS_DEFAULT) return own;
  const std::optional<Precision> environment = precision_of_environment();
  return environment ? std::max(own, round_off(*environment)) : own;
}

}  // namespace

const std::vector<poas_implementation>& all_gemm_implementations() {
  static const std::vector<poas_implementation> table = make_table();
  return table;
}

const std::vector<poas_implementation>& built_gemm_implementations() {
  static const std::vector<poas_implementation> table = built_table();
  return table;
}

bool gemm_allowed(const poas_gemm_args& args, unsigned workerid, unsigned nimpl) {
  const starpu_worker_archtype arch = starpu_worker_get_type(static_cast<int>(workerid));
  for (const poas_implementation& one : built_gemm_implementations()) {
    if (one.nimpl != nimpl || one.type != args.type || !runs_on(one.unit, arch)) continue;
    if (round_off(to_precision(one.precision)) > allowed_round_off(args)) return false;
    const char* why = nullptr;
    return !one.offered || one.offered(nullptr, static_cast<int>(workerid), &why) == 1;
  }
  return false;
}

}  // namespace poas::codelets

// The GEMM codelet and its descriptor.
#include "poas/gemm.h"

#include "gemm_describe.hpp"
#include "gemm_kernels.hpp"
#include "gemm_sample.hpp"
#include "gemm_table.hpp"

namespace poas::codelets {
namespace {

const poas_gemm_args* arguments_of(const starpu_task* task) {
  const bool right = task->cl_arg && task->cl_arg_size == sizeof(poas_gemm_args);
  const auto* args = right ? static_cast<const poas_gemm_args*>(task->cl_arg) : nullptr;
  return args && !fault_of(*args) ? args : nullptr;
}

// StarPU cannot place matrices without elements on a device.
bool has_inner_elements(const starpu_task* task) {
  if (STARPU_TASK_GET_NBUFFERS(task) == 0) return true;
  const starpu_data_handle_t a = STARPU_TASK_GET_HANDLE(task, 0);
  if (!a || starpu_data_get_interface_id(a) != STARPU_MATRIX_INTERFACE_ID) return true;
  return starpu_matrix_get_nx(a) != 0 && starpu_matrix_get_ny(a) != 0;
}

int can_execute(unsigned workerid, starpu_task* task, unsigned nimpl) {
  const poas_gemm_args* args = arguments_of(task);
  // Wrong arguments go to the first implementation, which refuses them with words.
  if (!args) return nimpl == 0;
  if (!has_inner_elements(task) && starpu_worker_get_type(static_cast<int>(workerid)) != STARPU_CPU_WORKER)
    return 0;
  return gemm_allowed(*args, workerid, nimpl);
}

starpu_codelet make_codelet() {
  starpu_codelet codelet{};
  starpu_codelet_init(&codelet);
  codelet.name = "poas_gemm";
  codelet.cpu_funcs[gemm_nimpl_only] = gemm_openblas;
  codelet.cpu_funcs_name[gemm_nimpl_only] = "poas_gemm_openblas";
  codelet.cuda_funcs[gemm_nimpl_cuda_cores] = gemm_cuda_cores;
  codelet.cuda_funcs[gemm_nimpl_tensor_cores] = gemm_tensor_cores;
  codelet.cuda_flags[gemm_nimpl_cuda_cores] = STARPU_CUDA_ASYNC;
  codelet.cuda_flags[gemm_nimpl_tensor_cores] = STARPU_CUDA_ASYNC;
  codelet.opencl_funcs[gemm_nimpl_only] = gemm_clblast;
  // Whether C is read depends on beta, so the access modes belong to the task.
  codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
  codelet.can_execute = can_execute;
  return codelet;
}

poas_divisible make_divisible() {
  poas_divisible d{};
  d.size = sizeof d;
  d.version = POAS_DIVISIBLE_VERSION;
  d.name = "gemm";
  d.ndims = 3;
  d.dim_name[0] = "m";
  d.dim_name[1] = "n";
  d.dim_name[2] = "k";
  d.cuttable = 1u << 0 | 1u << 1;
  d.nimplementations = static_cast<unsigned>(built_gemm_implementations().size());
  d.implementations = built_gemm_implementations().data();
  d.describe = describe_gemm;
  d.make_sample = make_gemm_sample;
  d.free_sample = free_gemm_sample;
  d.measure_block = gemm_measure_block;
  d.end_measuring = gemm_end_measuring;
  return d;
}

}  // namespace
}  // namespace poas::codelets

extern "C" const poas_divisible* poas_gemm_divisible(void) {
  static const poas_divisible divisible = poas::codelets::make_divisible();
  return &divisible;
}

extern "C" starpu_codelet* poas_gemm_codelet(void) {
  static starpu_codelet codelet = poas::codelets::make_codelet();
  // A codelet that could not be registered still runs whole; the error is kept.
  [[maybe_unused]] static const int registered = poas_divisible_register(&codelet, poas_gemm_divisible());
  return &codelet;
}

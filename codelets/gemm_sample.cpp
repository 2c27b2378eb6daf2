#include "gemm_sample.hpp"

#include <cstdlib>
#include <memory>
#include <new>

#include "gemm_describe.hpp"

namespace poas::codelets {
namespace {

constexpr std::uint64_t most = UINT32_MAX;

void release(starpu_data_handle_t handle, poas_type type) {
  const auto* home = static_cast<const starpu_matrix_interface*>(
      starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM));
  void* memory = reinterpret_cast<void*>(home->ptr);
  const std::uint64_t elements = std::uint64_t{home->nx} * home->ny;
  starpu_data_unregister_no_coherency(handle);
  release_sample(memory, elements, type);
}

// A matrix on new memory, nullptr if there is none.
starpu_data_handle_t make_matrix(std::uint64_t rows, std::uint64_t columns, poas_type type,
                                 std::uint32_t seed) {
  void* memory = allocate_sample(rows * columns, type, seed);
  if (!memory) return nullptr;
  starpu_data_handle_t handle = nullptr;
  if (poas_matrix_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(memory), rows, rows,
                           columns, bytes_of(type)) == 0)
    return handle;
  release_sample(memory, rows * columns, type);
  return nullptr;
}

poas_gemm_args sample_arguments(poas_type type) {
  // Samples measure every implementation of a type, so fp32 allows TF32.
  const poas_precision precision = type == POAS_FP32 ? POAS_CLASS_TF32 : POAS_CLASS_DEFAULT;
  return {POAS_GEMM_VERSION, type, 'N', 'N', 1, 0, precision};
}

starpu_task* make_task(starpu_data_handle_t (&handle)[3], poas_type type) {
  auto* args = static_cast<poas_gemm_args*>(std::malloc(sizeof(poas_gemm_args)));
  if (!args) return nullptr;
  *args = sample_arguments(type);
  starpu_task* task = starpu_task_create();
  task->cl = poas_gemm_codelet();
  task->cl_arg = args;
  task->cl_arg_size = sizeof *args;
  task->cl_arg_free = 1;
  task->nbuffers = 3;
  constexpr starpu_data_access_mode modes[] = {STARPU_R, STARPU_R, STARPU_W};
  for (unsigned i = 0; i < 3; ++i) {
    STARPU_TASK_SET_HANDLE(task, handle[i], i);
    STARPU_TASK_SET_MODE(task, modes[i], i);
  }
  task->detach = 0;
  task->destroy = 0;
  return task;
}

}  // namespace

starpu_task* make_gemm_sample(const std::uint64_t extent[POAS_MAX_DIMS], poas_type type) noexcept {
  const std::uint64_t m = extent[0], n = extent[1], k = extent[2];
  if (bytes_of(type) == 0 || m == 0 || n == 0 || k == 0 || m > most || n > most || k > most) return nullptr;
  starpu_data_handle_t handle[3] = {make_matrix(m, k, type, 1), make_matrix(k, n, type, 2),
                                    make_matrix(m, n, type, 3)};
  if (handle[0] && handle[1] && handle[2])
    if (starpu_task* task = make_task(handle, type)) return task;
  for (starpu_data_handle_t one : handle)
    if (one) release(one, type);
  return nullptr;
}

void free_gemm_sample(starpu_task* task) noexcept {
  if (!task) return;
  const poas_type type = static_cast<const poas_gemm_args*>(task->cl_arg)->type;
  starpu_data_handle_t handle[3];
  for (unsigned i = 0; i < 3; ++i) handle[i] = STARPU_TASK_GET_HANDLE(task, i);
  starpu_task_destroy(task);
  for (starpu_data_handle_t one : handle) release(one, type);
}

}  // namespace poas::codelets

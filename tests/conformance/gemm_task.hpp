// Matrices registered with StarPU, and GEMM tasks on them.
#pragma once

#include <poas/gemm.h>

#include "support/gemm_check.hpp"

namespace poas::test {

template <typename Element>
constexpr poas_type type_of() {
  if constexpr (std::is_same_v<Element, double>) return POAS_FP64;
  if constexpr (std::is_same_v<Element, float>) return POAS_FP32;
  if constexpr (std::is_same_v<Element, Fp16>) return POAS_FP16;
  return POAS_BF16;
}

// A handle on a matrix for as long as it lives.
class Handle {
 public:
  template <typename Element>
  explicit Handle(Matrix<Element>& matrix)
      : Handle(matrix.values.data(), matrix.ld, matrix.rows, matrix.columns, sizeof(Element)) {}
  Handle(void* data, std::uint64_t ld, std::uint64_t rows, std::uint64_t columns, std::size_t element) {
    poas_matrix_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(data), ld, rows, columns,
                         element);
  }
  ~Handle() { starpu_data_unregister(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator starpu_data_handle_t() const { return handle_; }

 private:
  starpu_data_handle_t handle_ = nullptr;
};

// A task that belongs to the test: not detached, destroyed by starpu_task_destroy().
inline starpu_task* make_task(starpu_codelet* codelet, poas_gemm_args* args, starpu_data_handle_t a,
                              starpu_data_handle_t b, starpu_data_handle_t c, starpu_data_access_mode mode_of_c) {
  starpu_task* task = starpu_task_create();
  task->cl = codelet;
  task->cl_arg = args;
  task->cl_arg_size = sizeof *args;
  task->nbuffers = 3;
  task->handles[0] = a;
  task->handles[1] = b;
  task->handles[2] = c;
  task->modes[0] = task->modes[1] = STARPU_R;
  task->modes[2] = mode_of_c;
  task->detach = 0;
  task->destroy = 0;
  return task;
}

}  // namespace poas::test

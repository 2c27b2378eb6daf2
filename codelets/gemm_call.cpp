#include "gemm_call.hpp"

#include <algorithm>
#include <cerrno>

#include "gemm_describe.hpp"

namespace poas::codelets {
namespace {

const starpu_matrix_interface& matrix(void* buffer) {
  return *static_cast<const starpu_matrix_interface*>(buffer);
}

MatrixArgument host_argument(void* buffer) {
  const starpu_matrix_interface& m = matrix(buffer);
  return {m.ptr, 0, m.ld, m.nx, m.ny};
}

MatrixArgument opencl_argument(void* buffer) {
  const starpu_matrix_interface& m = matrix(buffer);
  return {m.dev_handle, m.offset, m.ld, m.nx, m.ny};
}

// Policies other than poas run a task without having looked at it.
bool refused() {
  const starpu_task* task = starpu_task_get_current();
  if (!task) return false;
  poas_operation operation{};
  if (describe_gemm(task, &operation) >= 0) return false;
  poas_report_error(-EINVAL, "%s", operation.error);
  return true;
}

template <typename Argument>
std::optional<GemmCall> make_call(void* buffers[], const void* cl_arg, Argument argument) {
  if (refused()) return std::nullopt;
  const auto& args = *static_cast<const poas_gemm_args*>(cl_arg);
  GemmCall call;
  call.type = args.type;
  call.transa = is_transposed(args.transa);
  call.transb = is_transposed(args.transb);
  call.alpha = args.alpha;
  call.beta = args.beta;
  call.precision = class_of(args);
  call.a = argument(buffers[0]);
  call.b = argument(buffers[1]);
  call.c = argument(buffers[2]);
  call.m = call.c.rows;
  call.n = call.c.columns;
  call.k = call.transa ? call.a.rows : call.a.columns;
  return call;
}

}  // namespace

std::uint64_t GemmCall::largest() const { return std::max({m, n, k, a.ld, b.ld, c.ld}); }

std::optional<GemmCall> host_call(void* buffers[], const void* cl_arg) noexcept {
  return make_call(buffers, cl_arg, host_argument);
}

std::optional<GemmCall> opencl_call(void* buffers[], const void* cl_arg) noexcept {
  return make_call(buffers, cl_arg, opencl_argument);
}

}  // namespace poas::codelets

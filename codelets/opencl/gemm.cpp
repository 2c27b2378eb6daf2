// GEMM on an OpenCL device with CLBlast.
#include <clblast.h>

#include <cerrno>
#include <cstdio>

#include "gemm_call.hpp"
#include "gemm_kernels.hpp"

namespace poas::codelets {
namespace {

using clblast::StatusCode;

int own_device() { return starpu_worker_get_devid(starpu_worker_get_id()); }

cl_mem memory(const MatrixArgument& matrix) { return reinterpret_cast<cl_mem>(matrix.data); }

clblast::Transpose operation(bool transposed) {
  return transposed ? clblast::Transpose::kYes : clblast::Transpose::kNo;
}

// Waits for the event of a call that was accepted; a kernel that failed on the device is negative.
int finish(StatusCode status, cl_event event) {
  if (status != StatusCode::kSuccess) return static_cast<int>(status);
  const int waited = clWaitForEvents(1, &event);
  clReleaseEvent(event);
  return waited;
}

template <typename Real>
int multiply(const GemmCall& c, cl_command_queue queue) {
  cl_event event = nullptr;
  const StatusCode status = clblast::Gemm<Real>(
      clblast::Layout::kColMajor, operation(c.transa), operation(c.transb), c.m, c.n, c.k,
      static_cast<Real>(c.alpha), memory(c.a), c.a.offset / sizeof(Real), c.a.ld, memory(c.b),
      c.b.offset / sizeof(Real), c.b.ld, static_cast<Real>(c.beta), memory(c.c), c.c.offset / sizeof(Real),
      c.c.ld, &queue, &event);
  return finish(status, event);
}

// One column of C is multiplied by beta, or overwritten with 0.
template <typename Real>
int scale_column(const GemmCall& c, std::uint64_t column, cl_command_queue queue) {
  cl_event event = nullptr;
  const std::uint64_t first = c.c.offset / sizeof(Real) + column * c.c.ld;
  if (c.beta != 0) {
    const StatusCode status = clblast::Scal<Real>(c.m, static_cast<Real>(c.beta), memory(c.c), first, 1,
                                                  &queue, &event);
    return finish(status, event);
  }
  const Real zero = 0;
  const int status = clEnqueueFillBuffer(queue, memory(c.c), &zero, sizeof zero, first * sizeof(Real),
                                         c.m * sizeof(Real), 0, nullptr, &event);
  return finish(static_cast<StatusCode>(status), event);
}

template <typename Real>
int run(const GemmCall& call, cl_command_queue queue) {
  if (!call.scales_only()) return multiply<Real>(call, queue);
  for (std::uint64_t j = 0; j < call.n; ++j)
    if (const int status = scale_column<Real>(call, j, queue)) return status;
  return 0;
}

void report(int status, const GemmCall& call) {
  char why[160];
  std::snprintf(why, sizeof why, "clblast: status %d for a block of %llu x %llu x %llu", status,
                static_cast<unsigned long long>(call.m), static_cast<unsigned long long>(call.n),
                static_cast<unsigned long long>(call.k));
  // A call that was not accepted wrote nothing; with beta = 0 the old C does not matter.
  const bool written = status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || call.scales_only();
  if (call.beta == 0 || !written)
    poas_block_failed(-EIO, why);
  else
    poas_report_error(-EIO, "%s: the result is lost", why);
}

void clblast_gemm(void* buffers[], void* cl_arg) noexcept {
  const std::optional<GemmCall> call = opencl_call(buffers, cl_arg);
  if (!call || call->is_empty()) return;
  cl_command_queue queue = nullptr;
  starpu_opencl_get_queue(own_device(), &queue);
  const int status = call->type == POAS_FP64 ? run<double>(*call, queue) : run<float>(*call, queue);
  if (status != 0) report(status, *call);
}

}  // namespace

const starpu_opencl_func_t gemm_clblast = clblast_gemm;

int opencl_fp64_offered(int workerid, const char** why) noexcept {
  cl_device_id device = nullptr;
  starpu_opencl_get_device(starpu_worker_get_devid(workerid), &device);
  cl_device_fp_config config = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, nullptr) == CL_SUCCESS &&
      config != 0)
    return 1;
  *why = "the OpenCL device has no fp64 arithmetic";
  return 0;
}

}  // namespace poas::codelets

// The implementations of GEMM that this build has.  A null function: not built, or no such device.
// Which files define them is chosen by the build: cuda/ or nocuda/, opencl/ or noopencl/, simgrid/.
#pragma once

#include "poas/gemm.h"

namespace poas::codelets {

void gemm_openblas(void* buffers[], void* cl_arg) noexcept;

extern const starpu_cuda_func_t gemm_cuda_cores;
extern const starpu_cuda_func_t gemm_tensor_cores;
extern const starpu_opencl_func_t gemm_clblast;

// poas_divisible::measure_block and end_measuring.  On another worker than one of CUDA: -ENOTSUP.
extern int (*const gemm_measure_block)(void** state, const poas_block* block, poas_measurement* measurement);
extern void (*const gemm_end_measuring)(void* state);

// Whether the device of a worker has Tensor cores for the type, or fp64 arithmetic on OpenCL.
// Returns 1, or 0 and points *why at static words.
int tensor_cores_offered(int workerid, const char** why) noexcept;
int half_tensor_cores_offered(int workerid, const char** why) noexcept;
int opencl_fp64_offered(int workerid, const char** why) noexcept;

}  // namespace poas::codelets

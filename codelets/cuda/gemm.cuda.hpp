// The calls of cuBLAS that the implementations make, without StarPU's buffers.
#pragma once

#include "cuda/blas_handle.cuda.hpp"
#include "gemm_call.hpp"

namespace poas::codelets {

// Queue the multiplication on the stream of the handle; the call must not be empty.  A refused call starts nothing.
cublasStatus_t multiply_on_cuda_cores(cublasHandle_t handle, const GemmCall& call);
cublasStatus_t multiply_on_tensor_cores(cublasHandle_t handle, const GemmCall& call);

}  // namespace poas::codelets

// The cuBLAS handle of the calling CUDA worker, in a known state.
#pragma once

#include <cstdint>

#include <starpu.h>

#include <cublas_v2.h>

namespace poas::codelets {

// StarPU's handle if the application called starpu_cublas_init(), else one of ours for the worker,
// made at the first use and bound to the worker's stream.  While it lives, scalars are read from
// the host, math mode is the default one without reduced-precision sums; the handle's own modes
// come back at its end.
class BlasHandle {
 public:
  BlasHandle();
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;

  // CUBLAS_STATUS_SUCCESS, or why get() must not be used.
  cublasStatus_t status() const { return status_; }
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
  cublasStatus_t status_ = CUBLAS_STATUS_NOT_INITIALIZED;
  cublasMath_t math_ = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_ = CUBLAS_POINTER_MODE_HOST;
};

// cublasGemmEx with 64-bit sizes where this cuBLAS has it; CUBLAS_STATUS_INVALID_VALUE for sizes
// over 2^31 - 1 where it has not.
cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                       std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c,
                       std::int64_t ldc, cudaDataType type, cublasComputeType_t compute);

}  // namespace poas::codelets

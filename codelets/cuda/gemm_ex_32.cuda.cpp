// cuBLAS 11 has 32-bit sizes only.
#include <algorithm>
#include <climits>

#include "cuda/blas_handle.cuda.hpp"

namespace poas::codelets {

cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                       std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c,
                       std::int64_t ldc, cudaDataType type, cublasComputeType_t compute) {
  if (std::max({m, n, k, lda, ldb, ldc}) > INT_MAX) return CUBLAS_STATUS_INVALID_VALUE;
  const auto integer = [](std::int64_t value) { return static_cast<int>(value); };
  return cublasGemmEx(handle, transa, transb, integer(m), integer(n), integer(k), alpha, a, type,
                      integer(lda), b, type, integer(ldb), beta, c, type, integer(ldc), compute,
                      CUBLAS_GEMM_DEFAULT);
}

}  // namespace poas::codelets

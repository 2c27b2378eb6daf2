// cuBLAS 12 and later.
#include "cuda/blas_handle.cuda.hpp"

namespace poas::codelets {

cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                       std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c,
                       std::int64_t ldc, cudaDataType type, cublasComputeType_t compute) {
  return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, a, type, lda, b, type, ldb, beta, c, type,
                         ldc, compute, CUBLAS_GEMM_DEFAULT);
}

}  // namespace poas::codelets

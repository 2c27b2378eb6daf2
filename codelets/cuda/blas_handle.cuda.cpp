#include "cuda/blas_handle.cuda.hpp"

#include <starpu_cublas_v2.h>

namespace poas::codelets {
namespace {

constexpr auto our_math =
    static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

// Only the driver thread of a worker touches its entry.
cublasHandle_t own_handles[STARPU_NMAXWORKERS];

// Our handle of this worker, bound to its present stream (StarPU may have been restarted).
cublasStatus_t own_handle(cublasHandle_t& handle) {
  cublasHandle_t& own = own_handles[starpu_worker_get_id()];
  if (!own)
    if (const cublasStatus_t made = cublasCreate(&own); made != CUBLAS_STATUS_SUCCESS) {
      own = nullptr;
      return made;
    }
  handle = own;
  return cublasSetStream(own, starpu_cuda_get_local_stream());
}

}  // namespace

BlasHandle::BlasHandle() {
  handle_ = starpu_cublas_get_local_handle();
  status_ = handle_ ? CUBLAS_STATUS_SUCCESS : own_handle(handle_);
  if (status_ == CUBLAS_STATUS_SUCCESS) status_ = cublasGetMathMode(handle_, &math_);
  if (status_ == CUBLAS_STATUS_SUCCESS) status_ = cublasGetPointerMode(handle_, &pointer_);
  if (status_ != CUBLAS_STATUS_SUCCESS) {
    handle_ = nullptr;  // nothing to restore
    return;
  }
  status_ = cublasSetMathMode(handle_, our_math);
  if (status_ == CUBLAS_STATUS_SUCCESS) status_ = cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_HOST);
}

BlasHandle::~BlasHandle() {
  if (!handle_) return;
  cublasSetMathMode(handle_, math_);
  cublasSetPointerMode(handle_, pointer_);
}

}  // namespace poas::codelets

// GEMM on a GPU with cuBLAS: on CUDA cores, on Tensor cores.
#include <cerrno>
#include <cstdio>

#include "cuda/blas_handle.cuda.hpp"
#include "cuda/gemm.cuda.hpp"
#include "gemm_kernels.hpp"

namespace poas::codelets {
namespace {

struct Types {
  cudaDataType data;
  cublasComputeType_t compute;
};

// Pedantic fp64 keeps to the CUDA cores; fp32 without TF32 does too.
Types on_cuda_cores(const GemmCall& call) {
  if (call.type == POAS_FP64) return {CUDA_R_64F, CUBLAS_COMPUTE_64F_PEDANTIC};
  return {CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

Types on_tensor_cores(const GemmCall& call) {
  switch (call.type) {
    case POAS_FP64: return {CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case POAS_FP16: return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case POAS_BF16: return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case POAS_FP32: break;
  }
  return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
}

cublasOperation_t operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

const void* input(const MatrixArgument& matrix) { return reinterpret_cast<const void*>(matrix.data); }

cublasStatus_t multiply(cublasHandle_t handle, const GemmCall& c, const Types& types) {
  const float alpha = static_cast<float>(c.alpha), beta = static_cast<float>(c.beta);
  const bool is_double = c.type == POAS_FP64;
  // Without products only C is scaled; no address of A or B is read then.
  const std::int64_t k = c.scales_only() ? 0 : static_cast<std::int64_t>(c.k);
  return gemm_ex(handle, operation(c.transa), operation(c.transb), static_cast<std::int64_t>(c.m),
                 static_cast<std::int64_t>(c.n), k, is_double ? static_cast<const void*>(&c.alpha) : &alpha,
                 input(c.a), static_cast<std::int64_t>(c.a.ld), input(c.b), static_cast<std::int64_t>(c.b.ld),
                 is_double ? static_cast<const void*>(&c.beta) : &beta, reinterpret_cast<void*>(c.c.data),
                 static_cast<std::int64_t>(c.c.ld), types.data, types.compute);
}

// cuBLAS refuses a call before it starts a kernel, so C is as it was.
void report(cublasStatus_t status, const GemmCall& call) {
  char why[160];
  std::snprintf(why, sizeof why, "cublas: %s for a block of %llu x %llu x %llu", cublasGetStatusString(status),
                static_cast<unsigned long long>(call.m), static_cast<unsigned long long>(call.n),
                static_cast<unsigned long long>(call.k));
  poas_block_failed(-EIO, why);
}

void run(void* buffers[], const void* cl_arg, cublasStatus_t (*multiply)(cublasHandle_t, const GemmCall&)) {
  const std::optional<GemmCall> call = host_call(buffers, cl_arg);
  if (!call || call->is_empty()) return;
  const BlasHandle handle;
  cublasStatus_t status = handle.status();
  if (status == CUBLAS_STATUS_SUCCESS) status = multiply(handle.get(), *call);
  if (status != CUBLAS_STATUS_SUCCESS) report(status, *call);
}

void cuda_cores_gemm(void* buffers[], void* cl_arg) noexcept { run(buffers, cl_arg, multiply_on_cuda_cores); }
void tensor_cores_gemm(void* buffers[], void* cl_arg) noexcept { run(buffers, cl_arg, multiply_on_tensor_cores); }

int has_capability(int workerid, int least, const char** why, const char* words) {
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, starpu_worker_get_devid(workerid)) ==
          cudaSuccess &&
      major >= least)
    return 1;
  *why = words;
  return 0;
}

}  // namespace

cublasStatus_t multiply_on_cuda_cores(cublasHandle_t handle, const GemmCall& call) {
  return multiply(handle, call, on_cuda_cores(call));
}

cublasStatus_t multiply_on_tensor_cores(cublasHandle_t handle, const GemmCall& call) {
  return multiply(handle, call, on_tensor_cores(call));
}

const starpu_cuda_func_t gemm_cuda_cores = cuda_cores_gemm;
const starpu_cuda_func_t gemm_tensor_cores = tensor_cores_gemm;

int tensor_cores_offered(int workerid, const char** why) noexcept {
  return has_capability(workerid, 8, why, "Tensor cores for this type need compute capability 8.0");
}

int half_tensor_cores_offered(int workerid, const char** why) noexcept {
  return has_capability(workerid, 7, why, "Tensor cores for fp16 need compute capability 7.0");
}

}  // namespace poas::codelets

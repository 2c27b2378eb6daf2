// A build without CUDA.
#include "gemm_kernels.hpp"

namespace poas::codelets {

const starpu_cuda_func_t gemm_cuda_cores = nullptr;
const starpu_cuda_func_t gemm_tensor_cores = nullptr;

int (*const gemm_measure_block)(void**, const poas_block*, poas_measurement*) = nullptr;
void (*const gemm_end_measuring)(void*) = nullptr;

int tensor_cores_offered(int, const char** why) noexcept {
  *why = "built without CUDA";
  return 0;
}

int half_tensor_cores_offered(int workerid, const char** why) noexcept {
  return tensor_cores_offered(workerid, why);
}

}  // namespace poas::codelets

// A build without CLBlast.
#include "gemm_kernels.hpp"

namespace poas::codelets {

const starpu_opencl_func_t gemm_clblast = nullptr;

int opencl_fp64_offered(int, const char** why) noexcept {
  *why = "built without CLBlast";
  return 0;
}

}  // namespace poas::codelets

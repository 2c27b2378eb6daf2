// The implementations of GEMM as poas sees them.
#pragma once

#include <vector>

#include "poas/gemm.h"

namespace poas::codelets {

enum GemmNimpl : unsigned { gemm_nimpl_cuda_cores = 0, gemm_nimpl_tensor_cores = 1, gemm_nimpl_only = 0 };

// All that poas can be built with, or only those that this build has.
const std::vector<poas_implementation>& all_gemm_implementations();
const std::vector<poas_implementation>& built_gemm_implementations();

// Whether the worker may run implementation `nimpl` of a task with these arguments: it exists, the
// device offers it, and it has the class that the arguments or POAS_PRECISION ask for.
bool gemm_allowed(const poas_gemm_args& args, unsigned workerid, unsigned nimpl);

}  // namespace poas::codelets

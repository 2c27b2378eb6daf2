// GEMM as plain data, for plans without hardware.
#pragma once

#include <cstdint>

#include "poas/gemm.h"
#include "poas/operation.hpp"

namespace poas {

// What happens to C: overwritten (beta = 0) or read too.
enum class Update { overwrite, accumulate };

// The operation that poas derives from a task of poas_gemm_codelet() with C m x n and inner size k,
// from the same tables.  transa and transb are 'N' or 'T', lower case too.
// Pure, any thread.  Throws Error(invalid) for a size of 0 or over 2^32 - 1, a wrong letter, or a
// precision that the type cannot have (only fp32 has a choice: fp32 or tf32).
POAS_EXPORT Operation gemm_operation(std::uint64_t m, std::uint64_t n, std::uint64_t k, Type type,
                                     Precision precision, char transa, char transb, Update update);

}  // namespace poas

// A GEMM task as poas_operation: one description for tasks, samples and plans without hardware.
#pragma once

#include <cstdint>

#include "poas/gemm.h"

namespace poas::codelets {

struct GemmShape {
  std::uint64_t m = 0, n = 0, k = 0;
};

// poas_divisible::describe of the GEMM codelet.
int describe_gemm(const starpu_task* task, poas_operation* operation) noexcept;

// Fills extents, operands, type, class and variant.
void fill_gemm(const poas_gemm_args& args, const GemmShape& shape, poas_operation& operation);

// Whether the inner size is 0: C is scaled, nothing is cut, and a device is of no use.
bool scales_only(const poas_operation& operation);

// Words for arguments that no GEMM can have, nullptr if they are right.
const char* fault_of(const poas_gemm_args& args);

bool is_transposed(char letter);
std::size_t bytes_of(poas_type type);
poas_precision class_of(poas_type type);
// The class that the arguments ask for, never POAS_CLASS_DEFAULT.
poas_precision class_of(const poas_gemm_args& args);

}  // namespace poas::codelets

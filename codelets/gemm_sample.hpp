// Tasks on random matrices, for calibration.
#pragma once

#include <cstdint>

#include "poas/gemm.h"

namespace poas::codelets {

// poas_divisible::make_sample and free_sample of the GEMM codelet.
starpu_task* make_gemm_sample(const std::uint64_t extent[POAS_MAX_DIMS], poas_type type) noexcept;
void free_gemm_sample(starpu_task* task) noexcept;

// Uniform random values in [-1, 1] in all digits of the type, the same for the same seed (constant operands make GPUs
// faster than they are on data).  Not in simulation.
void fill_sample(void* memory, std::uint64_t elements, poas_type type, std::uint32_t seed);

// Allocates host memory for a sample: filled by fill_sample(), or, in
// simulation, memory that takes no space and is not touched.  Null if there is none.
void* allocate_sample(std::uint64_t elements, poas_type type, std::uint32_t seed);
void release_sample(void* memory, std::uint64_t elements, poas_type type);

}  // namespace poas::codelets

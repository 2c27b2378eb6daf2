// Sample matrices in simulation: one small piece of memory mapped over and over.
#include "gemm_describe.hpp"
#include "gemm_sample.hpp"

namespace poas::codelets {
namespace {

constexpr int flags = STARPU_MALLOC_PINNED | STARPU_MALLOC_SIMULATION_FOLDED;

}  // namespace

void* allocate_sample(std::uint64_t elements, poas_type type, std::uint32_t) {
  void* memory = nullptr;
  if (elements > SIZE_MAX / bytes_of(type)) return nullptr;
  return starpu_malloc_flags(&memory, elements * bytes_of(type), flags) == 0 ? memory : nullptr;
}

void release_sample(void* memory, std::uint64_t elements, poas_type type) {
  starpu_free_flags(memory, elements * bytes_of(type), flags);
}

}  // namespace poas::codelets

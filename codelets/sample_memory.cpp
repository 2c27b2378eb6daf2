// Sample matrices on real hardware: pinned where StarPU can, random contents (constant operands
// make GPUs faster than they are on data).
#include <algorithm>
#include <cstring>

#include "elements.hpp"
#include "gemm_describe.hpp"
#include "gemm_sample.hpp"

namespace poas::codelets {
namespace {

// Numerical Recipes' 32-bit linear congruence is random enough for operands, and fast.
struct Random {
  std::uint32_t state;
  float next() {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
};

// A period that no tile size divides, so that no two rows of tiles are alike.
constexpr std::uint64_t period = 1000003;

template <typename Element>
void fill(void* memory, std::uint64_t elements, std::uint32_t seed) {
  Random random{seed * 2654435761u};
  auto* values = static_cast<Element*>(memory);
  const std::uint64_t drawn = std::min(elements, period);
  for (std::uint64_t i = 0; i < drawn; ++i) store(random.next(), values[i]);
  for (std::uint64_t done = drawn; done < elements; done *= 2)
    std::memcpy(values + done, values, std::min(done, elements - done) * sizeof(Element));
}

}  // namespace

void* allocate_sample(std::uint64_t elements, poas_type type, std::uint32_t seed) {
  const std::size_t size = bytes_of(type);
  void* memory = nullptr;
  if (elements > SIZE_MAX / size || starpu_malloc(&memory, elements * size) != 0) return nullptr;
  switch (type) {
    case POAS_FP64: fill<double>(memory, elements, seed); break;
    case POAS_FP32: fill<float>(memory, elements, seed); break;
    case POAS_FP16: fill<Fp16>(memory, elements, seed); break;
    case POAS_BF16: fill<Bf16>(memory, elements, seed); break;
  }
  return memory;
}

void release_sample(void* memory, std::uint64_t elements, poas_type type) {
  starpu_free_noflag(memory, elements * bytes_of(type));
}

}  // namespace poas::codelets

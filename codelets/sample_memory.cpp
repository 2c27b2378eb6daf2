// Sample matrices on real hardware: ordinary memory, as pinning takes longer than many a measurement; random contents.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "elements.hpp"
#include "gemm_describe.hpp"
#include "gemm_sample.hpp"

namespace poas::codelets {
namespace {

// Knuth's 64-bit linear congruence (MMIX): the upper bits are random enough for operands, and it is fast.
struct Random {
  std::uint64_t state;
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<std::int64_t>(state) >> 11) * 0x1p-52;
  }
};

constexpr std::size_t alignment = 4096;  // that of pinned memory, which applications use

// A period that no tile size divides, so that no two rows of tiles are alike.
constexpr std::uint64_t period = 1000003;

template <typename Element>
void fill(void* memory, std::uint64_t elements, std::uint32_t seed) {
  using Value = std::conditional_t<std::is_same_v<Element, double>, double, float>;
  Random random{seed * 0x9e3779b97f4a7c15u};
  auto* values = static_cast<Element*>(memory);
  const std::uint64_t drawn = std::min(elements, period);
  for (std::uint64_t i = 0; i < drawn; ++i) store(static_cast<Value>(random.next()), values[i]);
  for (std::uint64_t done = drawn; done < elements; done *= 2)
    std::memcpy(values + done, values, std::min(done, elements - done) * sizeof(Element));
}

}  // namespace

void fill_sample(void* memory, std::uint64_t elements, poas_type type, std::uint32_t seed) {
  switch (type) {
    case POAS_FP64: return fill<double>(memory, elements, seed);
    case POAS_FP32: return fill<float>(memory, elements, seed);
    case POAS_FP16: return fill<Fp16>(memory, elements, seed);
    case POAS_BF16: return fill<Bf16>(memory, elements, seed);
  }
}

void* allocate_sample(std::uint64_t elements, poas_type type, std::uint32_t seed) {
  const std::size_t size = bytes_of(type);
  void* memory = nullptr;
  if (elements > SIZE_MAX / size || posix_memalign(&memory, alignment, elements * size) != 0) return nullptr;
  fill_sample(memory, elements, type, seed);
  return memory;
}

void release_sample(void* memory, std::uint64_t, poas_type) {
  std::free(memory);
}

}  // namespace poas::codelets

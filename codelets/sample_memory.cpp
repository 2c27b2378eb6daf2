// Sample matrices on real hardware: ordinary memory, as pinning takes longer than many a measurement; random contents.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

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
std::vector<Element> draw() {
  using Value = std::conditional_t<std::is_same_v<Element, double>, double, float>;
  Random random{0x9e3779b97f4a7c15u};
  std::vector<Element> values(period);
  for (Element& one : values) store(static_cast<Value>(random.next()), one);
  return values;
}

// The values of one period over and over; the seed tells where in it they begin.
template <typename Element>
void fill_range(Element* values, std::uint64_t begin, std::uint64_t end, std::uint64_t shift) {
  static const std::vector<Element> drawn = draw<Element>();
  while (begin < end) {
    const std::uint64_t from = (begin + shift) % period, count = std::min(end - begin, period - from);
    std::memcpy(values + begin, drawn.data() + from, count * sizeof(Element));
    begin += count;
  }
}

// Large memory by several threads: most of the time goes into its first use.
template <typename Element>
void fill(void* memory, std::uint64_t elements, std::uint32_t seed) {
  constexpr std::uint64_t enough_for_a_thread = std::uint64_t{4} << 20;  // bytes
  auto* const values = static_cast<Element*>(memory);
  const std::uint64_t shift = std::uint64_t{seed} * 123457;
  const std::uint64_t most = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t threads = std::clamp<std::uint64_t>(elements * sizeof(Element) / enough_for_a_thread, 1, most);
  std::vector<std::thread> others;
  for (std::uint64_t i = 1; i < threads; ++i)
    others.emplace_back([=] { fill_range(values, elements * i / threads, elements * (i + 1) / threads, shift); });
  fill_range(values, 0, elements / threads, shift);
  for (std::thread& one : others) one.join();
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

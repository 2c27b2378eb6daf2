// Contents of the operands that calibration multiplies: uniform in [-1, 1], whose mean square is 1/3.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "codelets/elements.hpp"
#include "codelets/gemm_sample.hpp"

namespace poas::codelets {
namespace {

constexpr std::uint64_t count = 1500000;  // more than are drawn: the rest is copied

template <typename Element>
std::vector<Element> filled(poas_type type, std::uint32_t seed) {
  std::vector<Element> values(count);
  fill_sample(values.data(), count, type, seed);
  return values;
}

template <typename Element>
void expect_uniform(poas_type type) {
  const auto values = filled<Element>(type, 1);
  double sum = 0, squares = 0, most = 0;
  for (const Element& one : values) {
    const double value = load(one);
    sum += value, squares += value * value, most = std::max(most, std::abs(value));
  }
  EXPECT_NEAR(sum / count, 0, 3e-3);
  EXPECT_NEAR(squares / count, 1.0 / 3, 3e-3);
  EXPECT_LE(most, 1);
  const auto again = filled<Element>(type, 1), other = filled<Element>(type, 2);
  EXPECT_EQ(std::memcmp(values.data(), again.data(), count * sizeof(Element)), 0);
  EXPECT_NE(std::memcmp(values.data(), other.data(), 64 * sizeof(Element)), 0);
}

TEST(SampleContents, AreUniform) {
  expect_uniform<double>(POAS_FP64);
  expect_uniform<float>(POAS_FP32);
  expect_uniform<Fp16>(POAS_FP16);
  expect_uniform<Bf16>(POAS_BF16);
}

// A double with the digits of a float would leave most of a multiplier idle.
TEST(SampleContents, DoublesAreRandomInTheirLastDigits) {
  std::set<std::uint64_t> endings;
  const auto values = filled<double>(POAS_FP64, 1);
  for (std::size_t i = 0; i < 4096; ++i) endings.insert(std::bit_cast<std::uint64_t>(values[i]) & 0xffff);
  EXPECT_GT(endings.size(), 2048u);
}

}  // namespace
}  // namespace poas::codelets

// Conversions of 16-bit elements against the compiler's own, over all values.
#include "codelets/elements.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace poas::codelets {
namespace {

float compilers_value(std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }

std::uint16_t compilers_rounding(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

template <typename Half>
std::uint16_t stored(float value) {
  Half half;
  store(value, half);
  return half.bits;
}

TEST(Elements, EveryFp16HasTheCompilersValue) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const float expected = compilers_value(static_cast<std::uint16_t>(bits));
    const float found = load(Fp16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(found)) << bits;
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << bits;
  }
}

// Around every fp16: the value, the midpoint to the next, and the fp32 neighbours of both.
TEST(Elements, RoundingToFp16IsTheCompilers) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const float low = compilers_value(static_cast<std::uint16_t>(bits));
    const float high = bits == 0x7bff ? 65536.0f : compilers_value(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    for (float centre : {low, middle})
      for (float value : {std::nextafter(centre, -1.0f), centre, std::nextafter(centre, 1e6f)})
        for (float sign : {1.0f, -1.0f})
          ASSERT_EQ(stored<Fp16>(sign * value), compilers_rounding(sign * value)) << sign * value;
  }
  EXPECT_EQ(stored<Fp16>(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(stored<Fp16>(1e30f), 0x7c00);
  EXPECT_TRUE(std::isnan(load(Fp16{stored<Fp16>(std::numeric_limits<float>::quiet_NaN())})));
}

// bf16 is the upper half of fp32, so the two neighbours and their exact distances are known.
TEST(Elements, RoundingToBf16IsToNearestEven) {
  std::mt19937 generator(7);
  for (int i = 0; i < 200000; ++i) {
    std::uint32_t bits = generator();
    if (i % 4 == 0) bits = (bits & 0xffff0000u) | 0x8000u;  // midpoints
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const double below = std::bit_cast<float>(bits & 0xffff0000u);
    const double step = std::ldexp(1.0, std::max(std::ilogb(below == 0 ? 1e-45 : below), -126) - 7);
    const double above = below + (std::signbit(value) ? -step : step);
    const double to_below = std::abs(value - below), to_above = std::abs(above - value);
    const bool even_below = (bits >> 16 & 1) == 0;
    const bool up = to_above < to_below || (to_above == to_below && !even_below);
    const std::uint16_t expected = static_cast<std::uint16_t>((bits >> 16) + (up ? 1 : 0));
    ASSERT_EQ(stored<Bf16>(value), expected) << value;
  }
  EXPECT_TRUE(std::isnan(load(Bf16{stored<Bf16>(std::numeric_limits<float>::quiet_NaN())})));
  EXPECT_TRUE(std::isnan(load(Bf16{stored<Bf16>(std::bit_cast<float>(0x7f800001u))})));
}

}  // namespace
}  // namespace poas::codelets

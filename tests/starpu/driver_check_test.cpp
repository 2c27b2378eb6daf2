// The check of the gemm driver accepts a right product, and neither a wrong element nor a wrong class.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "check.hpp"

namespace {

constexpr std::uint64_t m = 130, n = 150, k = 170;

float as_tf32(float value) {  // 10 bits of fraction, cut off
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
}

class DriverCheck : public testing::Test {
 protected:
  DriverCheck() {
    options.m = m, options.n = n, options.k = k, options.beta = -0.5;
    a.fill(), b.fill();
  }
  template <typename Round>
  void multiply(Round round) {
    auto* out = static_cast<float*>(c.data());
    for (std::uint64_t j = 0; j < n; j++)
      for (std::uint64_t i = 0; i < m; i++) {
        double sum = 0;
        for (std::uint64_t l = 0; l < k; l++)
          sum +=
              double{round(static_cast<float>(a.at(i, l)))} * double{round(static_cast<float>(b.at(l, j)))};
        out[i + j * m] = static_cast<float>(sum - 0.5 * c.initial(i, j));
      }
  }
  bool ok(poas::Precision precision) { return check(options, precision, a, b, c).ok(); }

  Options options;
  Matrix a{poas::Type::fp32, m, k, Memory::pageable, 1}, b{poas::Type::fp32, k, n, Memory::pageable, 2},
      c{poas::Type::fp32, m, n, Memory::pageable, 3};
};

TEST_F(DriverCheck, RightProductPasses) {
  multiply([](float value) { return value; });
  EXPECT_TRUE(ok(poas::Precision::fp32));
}

TEST_F(DriverCheck, LowerClassPassesOnlyWhereItWasAllowed) {
  multiply(as_tf32);
  EXPECT_TRUE(ok(poas::Precision::tf32));
  EXPECT_FALSE(ok(poas::Precision::fp32));
}

TEST_F(DriverCheck, WrongElementAnywhereIsSeen) {
  multiply([](float value) { return value; });
  auto* out = static_cast<float*>(c.data());
  for (std::uint64_t index : {std::uint64_t{0}, m / 2 + n / 2 * m, m * n - 1}) {
    const float before = out[index];
    out[index] += 1;
    EXPECT_FALSE(ok(poas::Precision::fp32)) << index;
    out[index] = NAN;
    EXPECT_FALSE(ok(poas::Precision::fp32)) << index;
    out[index] = before;
  }
  EXPECT_TRUE(ok(poas::Precision::fp32));
}

TEST_F(DriverCheck, OtherScalarsAreNotTheSame) {
  multiply([](float value) { return value; });
  options.beta = 0.5;
  EXPECT_FALSE(ok(poas::Precision::fp32));
}

}  // namespace

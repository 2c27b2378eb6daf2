// The judge judged: the reference on values worked out by hand, and the checker on wrong results.
#include <gtest/gtest.h>

#include "poas/operation.hpp"
#include "support/gemm_check.hpp"

namespace poas::test {
namespace {

template <typename Element>
Matrix<Element> matrix(std::uint64_t rows, std::uint64_t columns, std::initializer_list<double> by_rows) {
  Matrix<Element> result{rows, columns, rows, std::vector<Element>(rows * columns)};
  std::uint64_t position = 0;
  for (double value : by_rows) {
    codelets::store(static_cast<float>(value), result.values[position / columns + position % columns * rows]);
    ++position;
  }
  return result;
}

template <typename Element>
void store_all(Matrix<Element>& to, const std::vector<codelets::Wide<Element>>& values) {
  for (std::uint64_t j = 0; j < to.columns; ++j)
    for (std::uint64_t i = 0; i < to.rows; ++i) {
      if constexpr (std::is_same_v<Element, double>)
        to.values[i + j * to.ld] = static_cast<double>(values[i + j * to.rows]);
      else
        codelets::store(static_cast<float>(values[i + j * to.rows]), to.values[i + j * to.ld]);
    }
}

template <typename Element>
class Reference : public testing::Test {};
using Elements = testing::Types<double, float, Fp16, Bf16>;
TYPED_TEST_SUITE(Reference, Elements);

// [1 2 3; 4 5 6] [1 -1; 0 2; 3 1] = [10 6; 22 12]; each operand also given transposed.
TYPED_TEST(Reference, TwoByThreeByTwo) {
  const auto a = matrix<TypeParam>(2, 3, {1, 2, 3, 4, 5, 6}), at = matrix<TypeParam>(3, 2, {1, 4, 2, 5, 3, 6});
  const auto b = matrix<TypeParam>(3, 2, {1, -1, 0, 2, 3, 1}), bt = matrix<TypeParam>(2, 3, {1, 0, 3, -1, 2, 1});
  const auto c = matrix<TypeParam>(2, 2, {1, 2, 3, 4});
  for (char ta : {'N', 'T'})
    for (char tb : {'N', 'T'}) {
      const auto result = codelets::reference_gemm<TypeParam>(ta, tb, 2, (ta == 'N' ? a : at).view(),
                                                              (tb == 'N' ? b : bt).view(), -0.5, c.view());
      // 2 [10 6; 22 12] - 0.5 [1 2; 3 4], by columns
      const std::vector<codelets::Wide<TypeParam>> expected{19.5, 42.5, 11, 22};
      EXPECT_EQ(result, expected) << ta << tb;
    }
}

TYPED_TEST(Reference, ZeroFactorsDoNotReadTheirMatrices) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto bad = matrix<TypeParam>(1, 1, {nan}), two = matrix<TypeParam>(1, 1, {2});
  const std::vector<codelets::Wide<TypeParam>> four{4}, zero{0};
  EXPECT_EQ(codelets::reference_gemm<TypeParam>('N', 'N', 1, two.view(), two.view(), 0, bad.view()), four);
  EXPECT_EQ(codelets::reference_gemm<TypeParam>('N', 'N', 0, bad.view(), bad.view(), 2, two.view()), four);
  EXPECT_EQ(codelets::reference_gemm<TypeParam>('N', 'N', 0, bad.view(), bad.view(), 0, bad.view()), zero);
}

TYPED_TEST(Reference, CheckerPassesTheRoundedReferenceAndCatchesAWrongTile) {
  const GemmCase c{'N', 'T', 97, 65, 33, -0.5, 1};
  const auto a = random_matrix<TypeParam>(97, 33, 100, 1), b = random_matrix<TypeParam>(65, 33, 65, 2);
  const auto before = random_matrix<TypeParam>(97, 65, 99, 3);
  auto after = before;
  store_all(after, codelets::reference_gemm<TypeParam>('N', 'T', -0.5, a.view(), b.view(), 1, before.view()));
  EXPECT_LT(gemm_error(c, a, b, before, after), 1);
  EXPECT_LT(probed_gemm_error(c, a, b, before, after), 1);

  auto not_updated = after;  // one 8 x 8 tile still holds its old values
  for (int j = 16; j < 24; ++j)
    for (int i = 32; i < 40; ++i) not_updated.values[i + j * 99] = before.values[i + j * 99];
  EXPECT_GT(gemm_error(c, a, b, before, not_updated), 1);
  EXPECT_GT(probed_gemm_error(c, a, b, before, not_updated), 1);

  auto swapped = after;  // two columns changed places within a tile
  for (int i = 0; i < 8; ++i) std::swap(swapped.values[i], swapped.values[i + 99]);
  EXPECT_GT(gemm_error(c, a, b, before, swapped), 1);
  EXPECT_GT(probed_gemm_error(c, a, b, before, swapped), 1);
}

TEST(Checker, NanAndErrorWithoutScaleAreInfinite) {
  const GemmCase c{'N', 'N', 1, 1, 1, 0, 0};
  const auto one = matrix<float>(1, 1, {1}), zero = matrix<float>(1, 1, {0});
  const auto nan = matrix<float>(1, 1, {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(gemm_error(c, one, one, one, zero), 0);
  EXPECT_TRUE(std::isinf(gemm_error(c, one, one, one, one)));
  EXPECT_TRUE(std::isinf(gemm_error(c, one, one, one, nan)));
  EXPECT_TRUE(std::isinf(probed_gemm_error(c, one, one, one, nan)));
}

// The round-offs that the checker uses are those that plans promise.
TEST(Checker, RoundOffsAreThoseOfThePrecisionClasses) {
  EXPECT_EQ(rounding_of<double>().products, round_off(Precision::fp64));
  EXPECT_EQ(rounding_of<float>().products, round_off(Precision::fp32));
  EXPECT_EQ(tf32_rounding.products, round_off(Precision::tf32));
  EXPECT_EQ(rounding_of<Fp16>().result, round_off(Precision::fp16));
  EXPECT_EQ(rounding_of<Bf16>().result, round_off(Precision::bf16));
}

// Results of TF32 must not pass as fp32: operands rounded to 10 bits of mantissa.
TEST(Checker, Tf32IsNotFp32) {
  const GemmCase c{'N', 'N', 64, 64, 64, 1, 0};
  const auto a = random_matrix<float>(64, 64, 64, 1), b = random_matrix<float>(64, 64, 64, 2);
  auto rounded_a = a;
  for (float& x : rounded_a.values)
    x = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & 0xffffe000u);
  auto after = a;
  store_all(after, codelets::reference_gemm<float>('N', 'N', 1, rounded_a.view(), b.view(), 0, a.view()));
  EXPECT_GT(gemm_error(c, a, b, a, after), 1);
  EXPECT_LT(gemm_error(c, a, b, a, after, tf32_rounding), 1);
}

}  // namespace
}  // namespace poas::test

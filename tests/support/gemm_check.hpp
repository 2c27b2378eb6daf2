// Random matrices, and the error of a GEMM against the bound of the analysis of BLAS++:
//   |C - Cref|_F < 3 u (sqrt(k + 2) |alpha| |A|_F |B|_F + 2 |beta| |C before|_F),
// u the round-off of the type in which products are formed.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "codelets/elements.hpp"
#include "codelets/reference/gemm.hpp"

namespace poas::test {

using codelets::Bf16;
using codelets::Fp16;
using codelets::HostMatrix;

// Times the round-off of the products: what gemm_error() may reach.
inline constexpr double error_constant = 3;

// A column-major matrix; elements between rows and ld hold NaN and must stay untouched.
template <typename Element>
struct Matrix {
  std::uint64_t rows = 0, columns = 0, ld = 0;
  std::vector<Element> values;

  HostMatrix<const Element> view() const { return {values.data(), rows, columns, ld}; }
  double value(std::uint64_t i, std::uint64_t j) const { return codelets::load(values[i + j * ld]); }
};

// A seed fixes the values: uniform in [-1, 1), rounded to the element type.
template <typename Element>
Matrix<Element> random_matrix(std::uint64_t rows, std::uint64_t columns, std::uint64_t ld, unsigned seed) {
  Matrix<Element> matrix{rows, columns, ld, std::vector<Element>(ld * columns)};
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::uint64_t j = 0; j < columns; ++j)
    for (std::uint64_t i = 0; i < ld; ++i)
      codelets::store(i < rows ? uniform(generator) : std::numeric_limits<float>::quiet_NaN(),
                      matrix.values[i + j * ld]);
  return matrix;
}

template <typename Element>
bool padding_untouched(const Matrix<Element>& matrix) {
  for (std::uint64_t j = 0; j < matrix.columns; ++j)
    for (std::uint64_t i = matrix.rows; i < matrix.ld; ++i)
      if (!std::isnan(matrix.value(i, j))) return false;
  return true;
}

template <typename Element>
double frobenius(const Matrix<Element>& matrix) {
  double sum = 0;
  for (std::uint64_t j = 0; j < matrix.columns; ++j)
    for (std::uint64_t i = 0; i < matrix.rows; ++i) sum += matrix.value(i, j) * matrix.value(i, j);
  return std::sqrt(sum);
}

struct GemmCase {
  char transa = 'N', transb = 'N';
  std::uint64_t m = 1, n = 1, k = 1;
  double alpha = 1, beta = 0;
};

// The part of the bound without 3 u.
template <typename Element>
double error_scale(const GemmCase& c, const Matrix<Element>& a, const Matrix<Element>& b,
                   const Matrix<Element>& before) {
  const double products =
      c.alpha == 0 || c.k == 0 ? 0 : std::sqrt(c.k + 2.0) * std::abs(c.alpha) * frobenius(a) * frobenius(b);
  return products + (c.beta == 0 ? 0 : 2 * std::abs(c.beta) * frobenius(before));
}

inline double ratio(double difference, double scale) {
  if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  if (scale == 0) return difference == 0 ? 0 : std::numeric_limits<double>::infinity();
  return difference / scale;
}

// |C - Cref|_F over error_scale(), infinity if C holds a NaN; right if below error_constant * u.
template <typename Element>
double gemm_error(const GemmCase& c, const Matrix<Element>& a, const Matrix<Element>& b,
                  const Matrix<Element>& before, const Matrix<Element>& after) {
  const auto reference = codelets::reference_gemm<Element>(c.transa, c.transb, c.alpha, a.view(), b.view(),
                                                           c.beta, before.view());
  double sum = 0;
  for (std::uint64_t j = 0; j < c.n; ++j)
    for (std::uint64_t i = 0; i < c.m; ++i) {
      const double difference = static_cast<double>(after.view().value(i, j) - reference[i + j * c.m]);
      sum += difference * difference;
    }
  return ratio(std::sqrt(sum), error_scale(c, a, b, before));
}

// y = op(A) x in double.
template <typename Element>
std::vector<double> apply(char trans, const Matrix<Element>& a, const std::vector<double>& x) {
  const bool plain = trans == 'N';
  std::vector<double> y(plain ? a.rows : a.columns);
  for (std::uint64_t j = 0; j < a.columns; ++j)
    for (std::uint64_t i = 0; i < a.rows; ++i) (plain ? y[i] : y[j]) += a.value(i, j) * (plain ? x[j] : x[i]);
  return y;
}

// gemm_error() estimated in O(n^2) for large matrices: for random signs x, |(C - Cref) x|^2 is
// |C - Cref|_F^2 on average.
template <typename Element>
double probed_gemm_error(const GemmCase& c, const Matrix<Element>& a, const Matrix<Element>& b,
                         const Matrix<Element>& before, const Matrix<Element>& after, unsigned probes = 8,
                         unsigned seed = 1) {
  std::mt19937 generator(seed);
  double sum = 0;
  for (unsigned probe = 0; probe < probes; ++probe) {
    std::vector<double> x(c.n);
    for (double& one : x) one = generator() & 1 ? 1 : -1;
    const std::vector<double> product = apply(c.transa, a, apply(c.transb, b, x));
    const std::vector<double> result = apply('N', after, x);
    const std::vector<double> old = c.beta == 0 ? std::vector<double>(c.m) : apply('N', before, x);
    for (std::uint64_t i = 0; i < c.m; ++i) {
      const double difference = result[i] - c.alpha * product[i] - c.beta * old[i];
      sum += difference * difference;
    }
  }
  return ratio(std::sqrt(sum / probes), error_scale(c, a, b, before));
}

}  // namespace poas::test

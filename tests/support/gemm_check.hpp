// Random matrices, and the error of a GEMM against the bound of the analysis of BLAS++, tile by tile:
//   |C - Cref|_F < 3 u (sqrt(k + 2) |alpha| |A|_F |B|_F + 2 |beta| |C before|_F) + v |Cref|_F,
// u the round-off of products and sums, v that of the final rounding to a 16-bit type (their products
// are exact in fp32).  Norms are those of the rows and columns that a tile depends on, so one wrong
// tile of a large matrix is not hidden by the norm of the rest.
#pragma once

#include <algorithm>
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

inline constexpr double error_constant = 3;
inline constexpr std::uint64_t error_tile = 32;

// How an implementation rounds: u, v, and half the spacing of the smallest results.
struct Rounding {
  double products = 0, result = 0, smallest = 0;
};

template <typename Element>
constexpr Rounding rounding_of() {
  if constexpr (std::is_same_v<Element, double>) return {0x1p-53, 0, 0};
  if constexpr (std::is_same_v<Element, float>) return {0x1p-24, 0, 0};
  if constexpr (std::is_same_v<Element, Fp16>) return {0x1p-24, 0x1p-11, 0x1p-25};
  return {0x1p-24, 0x1p-8, 0};
}
// fp32 matrices multiplied in TF32.
inline constexpr Rounding tf32_rounding{0x1p-11, 0, 0};

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

struct GemmCase {
  char transa = 'N', transb = 'N';
  std::uint64_t m = 1, n = 1, k = 1;
  double alpha = 1, beta = 0;
};

// Sums of squares of each row of op(A).
template <typename Element>
std::vector<double> row_squares(char trans, const Matrix<Element>& a) {
  std::vector<double> squares(trans == 'N' ? a.rows : a.columns);
  for (std::uint64_t j = 0; j < a.columns; ++j)
    for (std::uint64_t i = 0; i < a.rows; ++i) squares[trans == 'N' ? i : j] += a.value(i, j) * a.value(i, j);
  return squares;
}

inline double norm(const std::vector<double>& squares, std::uint64_t begin, std::uint64_t end) {
  double sum = 0;
  for (std::uint64_t i = begin; i < end; ++i) sum += squares[i];
  return std::sqrt(sum);
}

// Sums over a tile of C, and the norms of what it depends on.
struct TileSums {
  double difference = 0, before = 0, reference = 0;  // squares
  std::uint64_t elements = 0;
  double a = 0, b = 0;                               // norms
};

// |C - Cref| of the tile over its bound; infinity for a NaN, or an error where none is allowed.
inline double tile_error(const GemmCase& c, const Rounding& rounding, const TileSums& tile) {
  const double products = c.alpha == 0 || c.k == 0 ? 0 : std::sqrt(c.k + 2.0) * std::abs(c.alpha) * tile.a * tile.b;
  const double old = c.beta == 0 ? 0 : 2 * std::abs(c.beta) * std::sqrt(tile.before);
  const double bound = error_constant * rounding.products * (products + old) +
                       rounding.result * std::sqrt(tile.reference) +
                       rounding.smallest * std::sqrt(static_cast<double>(tile.elements));
  if (tile.difference == 0) return 0;
  const double ratio = std::sqrt(tile.difference) / bound;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

// The largest error of a tile over its bound: right if below 1.
template <typename Element>
double gemm_error(const GemmCase& c, const Matrix<Element>& a, const Matrix<Element>& b,
                  const Matrix<Element>& before, const Matrix<Element>& after,
                  Rounding rounding = rounding_of<Element>()) {
  const auto reference = codelets::reference_gemm<Element>(c.transa, c.transb, c.alpha, a.view(), b.view(),
                                                           c.beta, before.view());
  const std::vector<double> rows = row_squares(c.transa, a), columns = row_squares(c.transb == 'N' ? 'T' : 'N', b);
  double worst = 0;
  for (std::uint64_t j0 = 0; j0 < c.n; j0 += error_tile)
    for (std::uint64_t i0 = 0; i0 < c.m; i0 += error_tile) {
      const std::uint64_t i1 = std::min(i0 + error_tile, c.m), j1 = std::min(j0 + error_tile, c.n);
      TileSums tile;
      for (std::uint64_t j = j0; j < j1; ++j)
        for (std::uint64_t i = i0; i < i1; ++i) {
          const auto right = reference[i + j * c.m];
          const double difference = static_cast<double>(after.view().value(i, j) - right);
          tile.difference += difference * difference;
          tile.before += before.value(i, j) * before.value(i, j);
          tile.reference += static_cast<double>(right * right);
        }
      tile.elements = (i1 - i0) * (j1 - j0);
      tile.a = norm(rows, i0, i1);
      tile.b = norm(columns, j0, j1);
      worst = std::max(worst, tile_error(c, rounding, tile));
    }
  return worst;
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

// gemm_error() estimated in O(n^2) for large matrices, by blocks of rows: for random signs x,
// |(C - Cref) x|^2 is |C - Cref|_F^2 on average.
template <typename Element>
double probed_gemm_error(const GemmCase& c, const Matrix<Element>& a, const Matrix<Element>& b,
                         const Matrix<Element>& before, const Matrix<Element>& after,
                         Rounding rounding = rounding_of<Element>(), unsigned probes = 8, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::vector<double> differences(c.m), references(c.m);  // squares, averages over the probes
  for (unsigned probe = 0; probe < probes; ++probe) {
    std::vector<double> x(c.n);
    for (double& one : x) one = generator() & 1 ? 1 : -1;
    const std::vector<double> product =
        c.alpha == 0 ? std::vector<double>(c.m) : apply(c.transa, a, apply(c.transb, b, x));
    const std::vector<double> result = apply('N', after, x);
    const std::vector<double> old = c.beta == 0 ? std::vector<double>(c.m) : apply('N', before, x);
    for (std::uint64_t i = 0; i < c.m; ++i) {
      const double right = c.alpha * product[i] + c.beta * old[i];
      differences[i] += (result[i] - right) * (result[i] - right) / probes;
      references[i] += right * right / probes;
    }
  }
  const std::vector<double> rows_of_a = row_squares(c.transa, a), rows_of_c = row_squares('N', before);
  const double norm_b = norm(row_squares('N', b), 0, b.rows);
  double worst = 0;
  for (std::uint64_t i0 = 0; i0 < c.m; i0 += error_tile) {
    const std::uint64_t i1 = std::min(i0 + error_tile, c.m);
    TileSums tile;
    for (std::uint64_t i = i0; i < i1; ++i) {
      tile.difference += differences[i];
      tile.before += rows_of_c[i];
      tile.reference += references[i];
    }
    tile.elements = (i1 - i0) * c.n;
    tile.a = norm(rows_of_a, i0, i1);
    tile.b = norm_b;
    worst = std::max(worst, tile_error(c, rounding, tile));
  }
  return worst;
}

}  // namespace poas::test

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>

namespace {

struct RoundOff {
  double input, sum, output;
};

// Inputs are rounded only if the class is below the type; sums are fp64 or fp32, never less.
RoundOff round_off_of(poas::Type type, poas::Precision precision) {
  const double of_class = poas::round_off(precision), of_type = poas::round_off(poas::precision_of(type));
  const double sum = precision == poas::Precision::fp64 ? 0x1p-53 : 0x1p-24;
  return {of_class > of_type ? of_class : 0, sum, std::max(of_type, sum)};
}

std::vector<std::uint64_t> some_rows(std::uint64_t rows, std::uint64_t seed) {
  std::vector<std::uint64_t> chosen;
  const std::uint64_t count = std::min<std::uint64_t>(64, rows);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < count; i++) {  // one of each stripe, and the last row
    const std::uint64_t begin = rows * i / count, end = rows * (i + 1) / count;
    chosen.push_back(i + 1 == count ? rows - 1 : begin + random() % (end - begin));
  }
  return chosen;
}

struct Sums {
  double value = 0, absolute = 0;
};

Sums dot(const std::vector<double>& a, const std::vector<double>& b) {
  Sums sums;
  for (std::size_t l = 0; l < a.size(); l++) {
    sums.value += a[l] * b[l];
    sums.absolute += std::abs(a[l] * b[l]);
  }
  return sums;
}

// The larger one, where NaN is larger than everything.
double worse(double x, double y) { return std::isnan(x) || x > y ? x : y; }

double exact_rows(const Options& o, const Matrix& a, const Matrix& b, const Matrix& c) {
  const auto rows = some_rows(o.m, o.seed);
  std::vector<std::vector<double>> a_rows(rows.size(), std::vector<double>(o.k));
  for (std::size_t r = 0; r < rows.size(); r++)
    for (std::uint64_t l = 0; l < o.k; l++) a_rows[r][l] = element(a, o.transa, rows[r], l);
  double worst = 0;
  std::mutex mutex;
  parallel_ranges(o.n, [&](std::uint64_t begin, std::uint64_t end) {
    double mine = 0;
    std::vector<double> column(o.k);
    for (std::uint64_t j = begin; j < end; j++) {
      for (std::uint64_t l = 0; l < o.k; l++) column[l] = element(b, o.transb, l, j);
      for (std::size_t r = 0; r < rows.size(); r++) {
        const Sums sums = dot(a_rows[r], column);
        const double old = o.beta == 0 ? 0 : o.beta * c.initial(rows[r], j);
        const double scale = std::abs(o.alpha) * sums.absolute + std::abs(old);
        const double error = std::abs(c.at(rows[r], j) - o.alpha * sums.value - old);
        mine = worse(error == 0 ? 0 : error / scale, mine);
      }
    }
    std::lock_guard lock(mutex);
    worst = worse(mine, worst);
  });
  return worst;
}

// out[i] = sum_j f(i, j) x[j]
template <typename Element>
std::vector<double> times(std::uint64_t rows, std::uint64_t columns, const std::vector<double>& x,
                          Element f) {
  std::vector<double> out(rows);
  parallel_ranges(rows, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t j = 0; j < columns; j++)
      for (std::uint64_t i = begin; i < end; i++) out[i] += f(i, j) * x[j];
  });
  return out;
}

// Errors of the elements of a row are independent of the signs in x, so their sum grows as the root
// of the number of columns; 8 standard deviations are allowed.
double random_product(const Options& o, const RoundOff& u, const Matrix& a, const Matrix& b,
                      const Matrix& c) {
  std::mt19937_64 random(o.seed + 1);
  std::vector<double> x(o.n), ones(o.n, 1);
  for (auto& one : x) one = random() & 1 ? 1 : -1;
  const auto of = [](const Matrix& matrix, char trans) {
    return [&matrix, trans](std::uint64_t i, std::uint64_t j) { return element(matrix, trans, i, j); };
  };
  const auto absolute = [](auto f) {
    return [f](std::uint64_t i, std::uint64_t j) { return std::abs(f(i, j)); };
  };
  const auto op_a = of(a, o.transa), op_b = of(b, o.transb), result = of(c, 'N');
  const auto old = [&](std::uint64_t i, std::uint64_t j) {
    return o.beta == 0 ? 0 : o.beta * c.initial(i, j);
  };
  const auto abx = times(o.m, o.k, times(o.k, o.n, x, op_b), op_a);
  const auto ab = times(o.m, o.k, times(o.k, o.n, ones, absolute(op_b)), absolute(op_a));
  const auto cx = times(o.m, o.n, x, result), c_sum = times(o.m, o.n, ones, absolute(result));
  const auto old_x = times(o.m, o.n, x, old), old_sum = times(o.m, o.n, ones, absolute(old));
  const double root_k = std::sqrt(static_cast<double>(o.k)), root_n = std::sqrt(static_cast<double>(o.n));
  const double reference = 0x1p-53 * static_cast<double>(o.n + o.k);
  double worst = 0;
  for (std::uint64_t i = 0; i < o.m; i++) {
    const double sums = std::abs(o.alpha) * ab[i];
    const double bound = 8 / root_n *
                             ((2 * u.input / root_k + u.sum * (root_k + 4)) * sums + 4 * u.sum * old_sum[i] +
                              u.output * c_sum[i]) +
                         reference * (sums + old_sum[i] + c_sum[i]);
    const double error = std::abs(cx[i] - o.alpha * abx[i] - old_x[i]);
    worst = worse(error == 0 ? 0 : error / bound, worst);
  }
  return worst;
}

}  // namespace

CheckResult check(const Options& options, poas::Precision precision, const Matrix& a, const Matrix& b,
                  const Matrix& c) {
  const RoundOff u = round_off_of(options.type, precision);
  CheckResult result;
  const double terms = static_cast<double>(options.k) + 4;
  // Rounding of both inputs, k additions, the output, and the additions of the reference itself.
  result.tolerance = 2 * u.input + terms * u.sum + u.output + terms * 0x1p-53;
  result.relative_error = exact_rows(options, a, b, c);
  result.product_error = random_product(options, u, a, b, c);
  return result;
}

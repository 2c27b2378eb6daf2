#include "models/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace poas {
namespace {

constexpr unsigned primes[SpreadPoints::most_dims] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
constexpr int length_dim = 0, ragged_dim = 1, first_extent_dim = 2;
constexpr double octaves = 3;  // of the longest extent above the middle one, and of the shortest below it
constexpr std::uint64_t grain = 32;
constexpr std::size_t one_in = 5;

// Digits of the index mirrored at the point (van der Corput).
double mirrored(std::uint64_t index, unsigned base) {
  double result = 0, digit = 1.0 / base;
  for (; index > 0; index /= base, digit /= base) result += static_cast<double>(index % base) * digit;
  return result;
}

}  // namespace

SpreadPoints::SpreadPoints(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (double& shift : shift_) shift = uniform(random);
}

double SpreadPoints::coordinate(std::uint64_t index, int dim) const {
  const double value = mirrored(index + 1, primes[dim]) + shift_[dim];
  return value - std::floor(value);
}

Extents spread_extents(const SpreadPoints& spread, std::uint64_t index, int ndims, double points, std::uint64_t least,
                       std::uint64_t most) {
  double octave[max_dims] = {}, mean = 0;
  for (int d = 0; d < ndims; ++d) {
    octave[d] = octaves * (2 * spread.coordinate(index, first_extent_dim + d) - 1);
    mean += octave[d] / ndims;
  }
  const bool ragged = spread.coordinate(index, ragged_dim) < 1.0 / 3;
  const double side = std::pow(points, 1.0 / ndims);
  Extents extents;
  extents.fill(1);
  for (int d = 0; d < ndims; ++d) {
    const double wish = std::clamp(side * std::exp2(octave[d] - mean), double(least), double(most));
    const auto extent = static_cast<std::uint64_t>(wish);
    extents[d] = ragged ? extent : std::max(least, extent / grain * grain);
  }
  return extents;
}

double spread_length(const SpreadPoints& spread, std::uint64_t index) { return spread.coordinate(index, length_dim); }

std::vector<bool> held_out(const std::vector<Sample>& samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return samples[a].seconds < samples[b].seconds; });
  std::vector<bool> result(samples.size(), false);
  for (std::size_t i = one_in / 2; i + one_in / 2 < order.size(); i += one_in) result[order[i]] = true;
  return result;
}

}  // namespace poas

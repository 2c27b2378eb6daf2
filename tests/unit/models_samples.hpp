// Synthetic measurements of a known truth, for tests of the model fit.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "poas/models.hpp"

namespace poas::testing {

using Truth = std::function<Seconds(const Sample&)>;

inline Sample block(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Sample sample;
  sample.extents = {m, n, k, 1, 1, 1, 1, 1};
  sample.work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  sample.bytes = 4.0 * static_cast<double>(m * k + k * n + m * n);
  return sample;
}

// `count` blocks with sides between the limits, spread evenly in the logarithm, off any alignment.
inline std::vector<Sample> blocks(unsigned count, double least, double most, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> exponent(std::log(least), std::log(most));
  const auto side = [&] { return static_cast<std::uint64_t>(std::exp(exponent(engine))); };
  std::vector<Sample> result;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t m = side(), n = side(), k = side();
    result.push_back(block(m, n, k));
  }
  return result;
}

// Fills in the times of the truth, each wrong by a normal error with this standard deviation.
inline std::vector<Sample> measured(std::vector<Sample> samples, const Truth& truth, double noise,
                                    unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> error(0, noise > 0 ? noise : 1);
  for (Sample& sample : samples) sample.seconds = truth(sample) * (noise > 0 ? std::exp(error(engine)) : 1);
  return samples;
}

// A matrix product described by hand, in fp32.
inline Operation product(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Operation operation;
  operation.name = "product";
  operation.dims = {{"m", m, true}, {"n", n, true}, {"k", k, false}};
  const auto axis = [](int dim, std::uint64_t extent) { return Axis{Follow::split, dim, extent, 0, 0}; };
  operation.operands = {{Access::read, 4, {axis(0, m), axis(2, k)}},
                        {Access::read, 4, {axis(2, k), axis(1, n)}},
                        {Access::write, 4, {axis(0, m), axis(1, n)}}};
  operation.work_per_point = 2;
  return operation;
}

inline Seconds predicted(const TimeModel& model, const Sample& sample) {
  const Operation operation = product(sample.extents[0], sample.extents[1], sample.extents[2]);
  return evaluate(model, operation, whole_box(operation));
}

// Mean |predicted - true| / true.
inline double mean_error(const TimeModel& model, const std::vector<Sample>& samples, const Truth& truth) {
  double sum = 0;
  for (const Sample& sample : samples) sum += std::abs(predicted(model, sample) / truth(sample) - 1);
  return sum / static_cast<double>(samples.size());
}

}  // namespace poas::testing

// Fits a time model to measured blocks: least squares on relative errors with coefficients >= 0,
// robust against single wild samples, for each quantisation of a small family.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "models/padding.hpp"
#include "poas/error.hpp"
#include "poas/models.hpp"

namespace poas {
namespace {

using Row = Eigen::Vector3d;  // fixed, per flop, per byte
using Features = Eigen::Matrix<double, Eigen::Dynamic, 3>;
using Column = Eigen::VectorXd;

constexpr int folds = 3;
constexpr unsigned most_parallel = 256;
constexpr double clear_gain = 0.8;       // a richer family must have at most this share of the error
constexpr double outlier_factor = 5;     // times the median error
constexpr double least_outlier = 0.01;   // errors below this are never called wild

struct Quantisation {
  Extents tile{1, 1, 1, 1, 1, 1, 1, 1};
  unsigned parallel = 1;
};
// Families from simple to rich: none, tiles, tiles in waves.
using Family = std::vector<Quantisation>;

struct Solution {
  Quantisation quantisation;
  Row coefficients = Row::Zero();
  double score = INFINITY;      // trimmed mean of squared errors
  double relative_error = 0;
  unsigned used = 0;
};

bool valid(const Sample& sample, int ndims) {
  const bool sized = std::all_of(sample.extents.begin(), sample.extents.begin() + ndims,
                                 [](std::uint64_t extent) { return extent > 0; });
  return sized && std::isfinite(sample.seconds) && sample.seconds > 0 && std::isfinite(sample.work) &&
         sample.work > 0 && std::isfinite(sample.bytes) && sample.bytes >= 0;
}

std::vector<Quantisation> tiles(int ndims) {
  static constexpr std::uint64_t pairs[][2] = {{8, 8},     {16, 8},    {64, 64},   {128, 64}, {64, 128},
                                               {128, 128}, {128, 256}, {256, 128}, {256, 256}};
  std::vector<Quantisation> result;
  if (ndims == 1) {
    for (std::uint64_t side = 8; side <= 1024; side *= 2) result.push_back({{side, 1, 1, 1, 1, 1, 1, 1}});
  } else {
    for (const auto& pair : pairs) result.push_back({{pair[0], pair[1], 1, 1, 1, 1, 1, 1}});
  }
  return result;
}

std::vector<Family> families(int ndims) {
  std::vector<Family> result{{Quantisation{}}, tiles(ndims), {}};
  for (const Quantisation& one : result[1])
    for (unsigned parallel = 2; parallel <= most_parallel && one.tile[0] > 16; ++parallel)
      result[2].push_back({one.tile, parallel});
  return result;
}

Features features_of(const std::vector<Sample>& samples, int ndims, const Quantisation& q) {
  Features result(samples.size(), 3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    const double points = padded_points(Quantisation{}.tile, 1, sample.extents, ndims);
    const double padded = padded_points(q.tile, q.parallel, sample.extents, ndims);
    result.row(i) << 1, sample.work / points * padded, sample.bytes;
  }
  return result;
}

Column seconds_of(const std::vector<Sample>& samples) {
  Column result(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) result[i] = samples[i].seconds;
  return result;
}

// Minimises c'Gc - 2t'c over c >= 0 by trying every support; small ones first, so that a coefficient
// that explains nothing stays 0.
Row non_negative(const Eigen::Matrix3d& gram, const Row& target) {
  static constexpr int supports[7][3] = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  static constexpr int sizes[7] = {1, 1, 1, 2, 2, 2, 3};
  Row best = Row::Zero();
  double best_value = 0;
  for (int s = 0; s < 7; ++s) {
    const int size = sizes[s];
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3> part(size, size);
    Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1> scale(size), right(size);
    for (int i = 0; i < size; ++i) {
      const double diagonal = gram(supports[s][i], supports[s][i]);
      scale[i] = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
      right[i] = target[supports[s][i]] * scale[i];
    }
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j) part(i, j) = gram(supports[s][i], supports[s][j]) * scale[i] * scale[j];
    const auto solution = part.ldlt().solve(right).eval();
    const double value = solution.dot(part * solution) - 2 * right.dot(solution);
    const bool better = value < best_value - 1e-12 * std::abs(best_value);
    if (!solution.allFinite() || solution.minCoeff() < 0 || !better) continue;
    best_value = value;
    best.setZero();
    for (int i = 0; i < size; ++i) best[supports[s][i]] = solution[i] * scale[i];
  }
  return best;
}

Row solve(const Features& features, const Column& seconds, const Column& weights) {
  const Features weighted = features.array().colwise() * weights.array();
  const Column target = (seconds.array() * weights.array()).matrix();
  return non_negative(weighted.transpose() * weighted, weighted.transpose() * target);
}

// |log(predicted / measured)|: alike for too slow and too fast.
Column errors_of(const Features& features, const Column& seconds, const Row& coefficients) {
  return ((features * coefficients).array().max(1e-300) / seconds.array()).log().abs().matrix();
}

double quantile(Column values, double share) {
  const auto rank = static_cast<Eigen::Index>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[rank];
}

// Mean of the squares without the worst tenth, so that one wild sample decides nothing.
double trimmed(Column errors) {
  const Eigen::Index kept = errors.size() < 8 ? errors.size() : errors.size() - (errors.size() + 9) / 10;
  std::nth_element(errors.begin(), errors.begin() + (kept - 1), errors.end());
  return errors.head(kept).squaredNorm() / static_cast<double>(kept);
}

// A start that no single sample can drag away, be it far too slow or far too fast: each residual is
// taken relative to the larger of measured and predicted, so it is at most 1.
Row bounded_start(const Features& features, const Column& seconds) {
  const Column rates = (seconds.array() / features.col(1).array()).matrix();
  Row coefficients(0, quantile(rates, 0.5), 0);
  for (int step = 0; step < 4; ++step) {
    const Column predicted = features * coefficients;
    coefficients = solve(features, seconds, seconds.cwiseMax(predicted).cwiseInverse());
  }
  return coefficients;
}

// Samples within five medians of the error, at least three quarters of them.
Column keep(const Column& errors) {
  const double limit = std::max({outlier_factor * quantile(errors, 0.5), least_outlier, quantile(errors, 0.75)});
  return (errors.array() <= limit).cast<double>().matrix();
}

Solution robust_fit(const Features& features, const Column& seconds) {
  Solution result;
  result.coefficients = bounded_start(features, seconds);
  Column kept = keep(errors_of(features, seconds, result.coefficients));
  for (int step = 0; step < 4; ++step) {
    result.coefficients = solve(features, seconds, (kept.array() / seconds.array()).matrix());
    const Column next = keep(errors_of(features, seconds, result.coefficients));
    if (next == kept) break;
    kept = next;
  }
  const Column relative = ((features * result.coefficients - seconds).array() / seconds.array()).abs().matrix();
  result.score = trimmed(errors_of(features, seconds, result.coefficients));
  result.used = static_cast<unsigned>(kept.sum());
  result.relative_error = relative.dot(kept) / kept.sum();
  return result;
}

Solution best_of(const Family& family, const std::vector<Sample>& samples, int ndims) {
  const Column seconds = seconds_of(samples);
  Solution best;
  for (const Quantisation& q : family) {
    Solution one = robust_fit(features_of(samples, ndims, q), seconds);
    one.quantisation = q;
    if (one.score < best.score) best = one;
  }
  return best;
}

// Error on samples that took no part in the choice: each third is predicted from the two others.
double held_out(const Family& family, const std::vector<Sample>& samples, int ndims) {
  Column errors(samples.size());
  Eigen::Index next = 0;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<Sample> known, asked;
    for (std::size_t i = 0; i < samples.size(); ++i)
      (static_cast<int>(i % folds) == fold ? asked : known).push_back(samples[i]);
    const Solution solution = best_of(family, known, ndims);
    const Column part = errors_of(features_of(asked, ndims, solution.quantisation), seconds_of(asked),
                                  solution.coefficients);
    errors.segment(next, part.size()) = part;
    next += part.size();
  }
  return std::sqrt(trimmed(errors));
}

// The simplest family whose held-out error is not clearly above that of the best.
const Family& choose(const std::vector<Family>& all, const std::vector<Sample>& samples, int ndims) {
  if (samples.size() < 4 * folds) return all.front();  // too few to tell
  std::vector<double> errors;
  for (const Family& family : all) errors.push_back(held_out(family, samples, ndims));
  const double enough = *std::min_element(errors.begin(), errors.end()) / clear_gain;
  const auto first = std::find_if(errors.begin(), errors.end(), [&](double error) { return error <= enough; });
  return all[first - errors.begin()];
}

std::vector<Sample> usable(const std::vector<Sample>& samples, int ndims) {
  std::vector<Sample> result;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(result),
               [ndims](const Sample& sample) { return valid(sample, ndims); });
  // Every third of the order by time spans the whole range.
  std::stable_sort(result.begin(), result.end(),
                   [](const Sample& a, const Sample& b) { return a.seconds < b.seconds; });
  return result;
}

}  // namespace

TimeModel fit(const std::vector<Sample>& samples, int ndims) {
  if (ndims < 1 || ndims > max_dims)
    throw Error(Errc::invalid, "cannot fit a model: the operation has " + std::to_string(ndims) +
                                   " dimensions, possible are 1 to 8; correct its description");
  const std::vector<Sample> used = usable(samples, ndims);
  if (used.size() < 3)
    throw Error(Errc::numerical, "cannot fit a model: only " + std::to_string(used.size()) + " of " +
                                     std::to_string(samples.size()) +
                                     " samples are finite and positive, at least 3 are needed; "
                                     "measure more blocks");
  const Solution solution = best_of(choose(families(ndims), used, ndims), used, ndims);
  TimeModel model;
  model.fixed = solution.coefficients[0];
  model.seconds_per_flop = solution.coefficients[1];
  model.seconds_per_byte = solution.coefficients[2];
  model.tile = solution.quantisation.tile;
  model.parallel = solution.quantisation.parallel;
  model.relative_error = solution.relative_error;
  model.samples = solution.used;
  return model;
}

}  // namespace poas

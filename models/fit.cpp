// Fits a time model to measured blocks: least squares on relative errors with coefficients >= 0,
// robust against single wild samples, for each quantisation of a small family.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/padding.hpp"
#include "poas/error.hpp"
#include "poas/models.hpp"

namespace poas {
namespace {

using Row = Eigen::Vector3d;  // fixed, per flop, per byte
using Features = Eigen::Matrix<double, Eigen::Dynamic, 3>;
using Column = Eigen::VectorXd;

constexpr int folds = 3;
constexpr int enough_samples = 4 * folds;  // to judge families of tiles
constexpr unsigned most_parallel = 256;
constexpr double clear_gain = 0.7;    // a richer family must have at most this share of the error
constexpr double outlier_factor = 5;  // times the median error
constexpr int steps_with_all = 2, most_steps = 10;
constexpr double settled = 1e-4;        // change of any prediction
constexpr double most_error = 0.25;     // more counts no more
constexpr double least_outlier = 0.01;  // errors below this are never called wild

struct Quantisation {
  Extents tile{1, 1, 1, 1, 1, 1, 1, 1};
  unsigned parallel = 1;
};
// Families from simple to rich: none, tiles, tiles in waves.
using Family = std::vector<Quantisation>;

struct Solution {
  Quantisation quantisation;
  Row coefficients = Row::Zero();
  double score = INFINITY;  // bounded mean square of the errors
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

// Solution of the normal equations over some of the coefficients, the others 0.
Row solve_support(const Eigen::Matrix3d& gram, const Row& target, unsigned support) {
  Eigen::Matrix3d part = Eigen::Matrix3d::Identity();
  Row scale = Row::Zero();
  for (int i = 0; i < 3; ++i)
    if ((support >> i & 1) && gram(i, i) > 0) scale[i] = 1 / std::sqrt(gram(i, i));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < i; ++j) part(i, j) = part(j, i) = gram(i, j) * scale[i] * scale[j];
  const Row right = target.cwiseProduct(scale);
  return part.ldlt().solve(right).cwiseProduct(scale);
}

// Minimises c'Gc - 2t'c over c >= 0 by trying every support.
Row non_negative(const Eigen::Matrix3d& gram, const Row& target) {
  Row best = Row::Zero();
  double best_value = 0;
  for (unsigned support = 7; support > 0; --support) {
    const Row one = solve_support(gram, target, support);
    if (!one.allFinite() || one.minCoeff() < 0) continue;
    if (support == 7) return one;  // the unconstrained minimum
    const double value = one.dot(gram * one) - 2 * target.dot(one);
    if (value >= best_value) continue;
    best = one;
    best_value = value;
  }
  return best;
}

Row solve(const Features& features, const Column& seconds, const Column& weights) {
  const Features weighted = features.array().colwise() * weights.array();
  const Column target = (seconds.array() * weights.array()).matrix();
  return non_negative(weighted.transpose() * weighted, weighted.transpose() * target);
}

// |log(predicted / measured)|: alike for too slow and too fast.
Column errors_of(const Column& predicted, const Column& seconds) {
  return (predicted.array().max(1e-300) / seconds.array()).log().abs().matrix();
}

double quantile(Column values, double share) {
  const auto rank = static_cast<Eigen::Index>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[rank];
}

// Mean square of errors of which none counts more than a limit, so that one wild sample decides nothing.
double bounded(const Column& errors) {
  return errors.cwiseMin(most_error).squaredNorm() / static_cast<double>(errors.size());
}

// Samples within five medians of the error, at least three quarters of them.
Column keep(const Column& errors) {
  const double limit =
      std::max({outlier_factor * quantile(errors, 0.5), least_outlier, quantile(errors, 0.75)});
  return (errors.array() <= limit).cast<double>().matrix();
}

// Least squares in which no sample can drag the rest away, be it far too slow or far too fast: a
// residual counts relative to the larger of measured and predicted, so it is at most about 1, and
// wild samples are dropped once the others agree.
Solution robust_fit(const Features& features, const Column& seconds, Column kept) {
  Solution result;
  Column predicted = features.col(1) * quantile((seconds.array() / features.col(1).array()).matrix(), 0.5);
  for (int step = 0; step < most_steps; ++step) {
    const Column weights = (kept.array() / seconds.cwiseMax(predicted).array()).matrix();
    result.coefficients = solve(features, seconds, weights);
    const Column before = std::exchange(predicted, features * result.coefficients);
    if (step < steps_with_all) continue;
    kept = keep(errors_of(predicted, seconds));
    if (((predicted - before).array() / seconds.array()).abs().maxCoeff() <= settled) break;
  }
  result.score = bounded(errors_of(predicted, seconds));
  result.used = static_cast<unsigned>(kept.sum());
  result.relative_error =
      kept.dot(((predicted - seconds).array() / seconds.array()).abs().matrix()) / kept.sum();
  return result;
}

// Among few samples a wild one can be the only witness of a coefficient: leave out each in turn.
Solution fit_under(const Features& features, const Column& seconds) {
  const Column all = Column::Ones(seconds.size());
  Solution best = robust_fit(features, seconds, all);
  if (seconds.size() < 4 || seconds.size() >= enough_samples) return best;
  for (Eigen::Index i = 0; i < seconds.size(); ++i) {
    Column others = all;
    others[i] = 0;
    const Solution one = robust_fit(features, seconds, others);
    if (one.score < best.score) best = one;
  }
  return best;
}

Solution best_of(const Family& family, const std::vector<Sample>& samples, int ndims) {
  const Column seconds = seconds_of(samples);
  Solution best;
  for (const Quantisation& q : family) {
    Solution one = fit_under(features_of(samples, ndims, q), seconds);
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
    const Column part = errors_of(features_of(asked, ndims, solution.quantisation) * solution.coefficients,
                                  seconds_of(asked));
    errors.segment(next, part.size()) = part;
    next += part.size();
  }
  return std::sqrt(bounded(errors));
}

// The simplest family whose held-out error is not clearly above that of the best.
const Family& choose(const std::vector<Family>& all, const std::vector<Sample>& samples, int ndims) {
  if (samples.size() < enough_samples) return all.front();
  std::vector<double> errors;
  for (const Family& family : all) errors.push_back(held_out(family, samples, ndims));
  const double enough = *std::min_element(errors.begin(), errors.end()) / clear_gain;
  const auto first =
      std::find_if(errors.begin(), errors.end(), [&](double error) { return error <= enough; });
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

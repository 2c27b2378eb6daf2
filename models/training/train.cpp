#include "models/training/train.hpp"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "poas/error.hpp"

namespace poas::training {
namespace {

constexpr std::size_t most_for_simple = 600;  // samples that the simple model is fitted to
constexpr std::size_t parts = 5;              // of the samples, of which one judges
constexpr int rounds = 48;

using Parameters = std::vector<std::pair<const char*, const char*>>;
// Trees for so many samples.  They must leave at most a share of the error, where so many parts judge in turn.
struct Recipe {
  std::size_t least_samples, judges;
  double clear_gain;
  Parameters parameters;
};
const Recipe recipes[] = {
    {400,
     1,
     0.7,
     {{"grow_policy", "lossguide"},
      {"max_leaves", "256"},
      {"max_depth", "10"},
      {"eta", "0.15"},
      {"min_child_weight", "5"}}},
    // Few samples allow a few cuts in each tree, each from other features.
    {80, parts, 1.0, {{"max_depth", "3"}, {"eta", "0.1"}, {"min_child_weight", "3"}, {"colsample_bytree", "0.5"}}}};
const Parameters of_all = {
    {"tree_method", "hist"}, {"subsample", "0.8"}, {"lambda", "1"},    {"seed", "1"},
    {"nthread", "1"},        {"base_score", "0"},  {"verbosity", "0"}, {"objective", "reg:squarederror"}};

void check(int code) {
  if (code != 0) throw Error(Errc::numerical, std::string("XGBoost: ") + XGBGetLastError());
}

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
struct FreeBooster {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

Matrix matrix_of(const std::vector<Sample>& samples, const TimeModel& simple, int ndims, unsigned parallel) {
  std::vector<float> features, targets;
  for (const Sample& sample : samples) {
    const Features row = features_of(sample.extents, ndims, parallel);
    features.insert(features.end(), row.begin(), row.end());
    targets.push_back(static_cast<float>(std::log(sample.seconds / evaluate(simple, sample, ndims))));
  }
  DMatrixHandle handle = nullptr;
  check(XGDMatrixCreateFromMat(features.data(), samples.size(), feature_count, NAN, &handle));
  Matrix matrix(handle);
  check(XGDMatrixSetFloatInfo(handle, "label", targets.data(), targets.size()));
  return matrix;
}

nlohmann::json boosted(const Matrix& matrix, const Parameters& parameters) {
  const DMatrixHandle matrices[] = {matrix.get()};
  BoosterHandle handle = nullptr;
  check(XGBoosterCreate(matrices, 1, &handle));
  const Booster booster(handle);
  for (const Parameters& some : {of_all, parameters})
    for (const auto& [name, value] : some) check(XGBoosterSetParam(handle, name, value));
  for (int i = 0; i < rounds; ++i) check(XGBoosterUpdateOneIter(handle, i, matrix.get()));
  bst_ulong length = 0;
  const char* text = nullptr;
  check(XGBoosterSaveModelToBuffer(handle, R"({"format": "json"})", &length, &text));
  const auto model = nlohmann::json::parse(text, text + length);
  return model.at("learner").at("gradient_booster").at("model").at("trees");
}

// One of XGBoost's trees in the order of Forest.
void write(const nlohmann::json& tree, int node, std::string& text) {
  const int left = tree.at("left_children")[node], right = tree.at("right_children")[node];
  const double value = tree.at("split_conditions")[node];
  char words[48];
  if (left < 0)
    std::snprintf(words, sizeof words, "-1 %ld ", std::lround(value / 1e-4));
  else
    std::snprintf(words, sizeof words, "%d %.9g ", tree.at("split_indices")[node].get<int>(), value);
  text += words;
  if (left < 0) return;
  write(tree, left, text);
  write(tree, right, text);
}

TimeModel with_trees(TimeModel simple, const std::vector<Sample>& samples, int ndims, unsigned parallel,
                     const Parameters& parameters) {
  std::vector<std::string> trees;
  for (const auto& tree : boosted(matrix_of(samples, simple, ndims, parallel), parameters))
    write(tree, 0, trees.emplace_back());
  simple.forest = std::make_shared<Forest>(trees, parallel);
  simple.samples = static_cast<unsigned>(samples.size());
  return simple;
}

// The samples may come in a pattern: a part of them is drawn, the same one each time.
TimeModel simple_fit(std::vector<Sample> samples, int ndims) {
  std::mt19937_64 random(1);
  std::shuffle(samples.begin(), samples.end(), random);
  if (samples.size() > most_for_simple) samples.resize(most_for_simple);
  return fit(samples, ndims);
}

}  // namespace

std::vector<Seconds> linear_regression(const std::vector<Sample>& samples, const std::vector<Sample>& asked) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Sample& one : samples) {
    n += 1, x += one.work, y += one.seconds;
    xx += one.work * one.work, xy += one.work * one.seconds;
  }
  const double b = (n * xy - x * y) / (n * xx - x * x), a = (y - b * x) / n;
  std::vector<Seconds> result;
  for (const Sample& one : asked) result.push_back(a + b * one.work);
  return result;
}

TimeModel train(const std::vector<Sample>& samples, int ndims, unsigned parallel) {
  TimeModel simple = simple_fit(samples, ndims);
  const auto recipe = std::find_if(std::begin(recipes), std::end(recipes),
                                   [&](const Recipe& one) { return samples.size() >= one.least_samples; });
  if (recipe == std::end(recipes)) return simple;
  double with = 0, without = 0;
  for (std::size_t judge = 0; judge < recipe->judges; ++judge) {
    std::vector<Sample> known, asked;
    for (std::size_t i = 0; i < samples.size(); ++i) (i % parts == judge ? asked : known).push_back(samples[i]);
    // The simple model may know all: its few coefficients hardly depend on a fifth, and take longer to fit than the trees.
    without += mean_error(simple, asked, ndims) / static_cast<double>(recipe->judges);
    with += mean_error(with_trees(simple, known, ndims, parallel, recipe->parameters), asked, ndims) /
            static_cast<double>(recipe->judges);
  }
  simple.relative_error = without;
  if (with > recipe->clear_gain * without) return simple;
  TimeModel model = with_trees(simple, samples, ndims, parallel, recipe->parameters);
  model.relative_error = with;
  return model;
}

}  // namespace poas::training

// How well a model fitted to one table of gpu_samples predicts another.
//   model_error TRAIN.tsv TEST.tsv
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/small_nodes.hpp"

namespace {

using poas::Sample;
using Predictions = std::vector<double>;

Sample sample_of(std::uint64_t m, std::uint64_t n, std::uint64_t k, double element, double seconds) {
  Sample sample;
  sample.extents.fill(1);
  sample.extents[0] = m, sample.extents[1] = n, sample.extents[2] = k;
  sample.work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  sample.bytes = element * (static_cast<double>(m * k) + static_cast<double>(k * n) + static_cast<double>(m * n));
  sample.seconds = seconds;
  return sample;
}

std::vector<Sample> read(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file + ": give a table of gpu_samples gemm");
  std::vector<Sample> samples;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string type, implementation;
    std::uint64_t m = 0, n = 0, k = 0;
    double seconds = 0;
    if (words >> type >> implementation >> m >> n >> k >> seconds)
      samples.push_back(sample_of(m, n, k, type == "fp64" ? 8 : type == "fp32" || type == "tf32" ? 4 : 2, seconds));
  }
  return samples;
}

// seconds = a + b work, by ordinary least squares: the linear regression of the POAS paper.
Predictions linear(const std::vector<Sample>& train, const std::vector<Sample>& test) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Sample& one : train) {
    n += 1, x += one.work, y += one.seconds;
    xx += one.work * one.work, xy += one.work * one.seconds;
  }
  const double b = (n * xy - x * y) / (n * xx - x * x), a = (y - b * x) / n;
  Predictions result;
  for (const Sample& one : test) result.push_back(a + b * one.work);
  return result;
}

Predictions fitted(const std::vector<Sample>& train, const std::vector<Sample>& test) {
  const poas::TimeModel model = poas::fit(train, 3);
  std::printf("model: %llu x %llu tiles, %u at once, from %u samples\n", static_cast<unsigned long long>(model.tile[0]),
              static_cast<unsigned long long>(model.tile[1]), model.parallel, model.samples);
  Predictions result;
  for (const Sample& one : test) {
    const poas::Operation operation = poas::test::gemm(one.extents[0], one.extents[1], one.extents[2]);
    const double work = poas::padded_work(model, operation, one.extents);
    result.push_back(model.fixed + model.seconds_per_flop * work + model.seconds_per_byte * one.bytes);
  }
  return result;
}

void judge(const char* name, const Predictions& predicted, const std::vector<Sample>& test) {
  std::vector<double> errors;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    errors.push_back(std::abs(predicted[i] / test[i].seconds - 1));
    sum += errors.back();
    squares += std::pow(predicted[i] - test[i].seconds, 2);
  }
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  std::printf("%-20s mean error %5.1f %%   95 of 100 within %5.1f %%   RMSE %.3f ms\n", name, 100 * sum / count,
              100 * errors[static_cast<std::size_t>(0.95 * (count - 1))], 1e3 * std::sqrt(squares / count));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: model_error TRAIN.tsv TEST.tsv (tables of gpu_samples gemm)\n");
    return 2;
  }
  try {
    const std::vector<Sample> train = read(argv[1]), test = read(argv[2]);
    if (test.empty()) throw std::runtime_error(std::string(argv[2]) + " holds no samples");
    judge("fit()", fitted(train, test), test);
    judge("linear regression", linear(train, test), test);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_error: %s\n", error.what());
    return 1;
  }
  return 0;
}

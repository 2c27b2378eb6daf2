// Fitting of trees, and the models that are shipped against blocks that took no part in their fit.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "models/training/train.hpp"
#include "unit/models_samples.hpp"

namespace poas::training {
namespace {

using testing::blocks;
using testing::measured;

constexpr int ndims = 3;
const std::string samples_folder = POAS_MODELS "/samples/h200-";

// Another kernel for narrow or unaligned blocks, as libraries have.
Seconds jumping(const Sample& sample) {
  const bool slow = sample.extents[1] < 300 || (sample.extents[0] % 8 != 0 && sample.extents[2] > 500);
  return 5e-6 + sample.work / 50e12 * (slow ? 2.5 : 1);
}

double mean_error(const TimeModel& model, const std::vector<Sample>& samples) {
  return errors_of(predictions(model, samples, ndims), samples).mean;
}

TEST(Training, trees_learn_where_a_library_changes_its_kernel) {
  const auto known = measured(blocks(3000, 64, 8192, 1), jumping, 0.02, 2);
  const auto asked = measured(blocks(300, 64, 8192, 3), jumping, 0, 4);
  const TimeModel model = train(known, ndims, 132);
  ASSERT_TRUE(model.forest);
  EXPECT_LT(mean_error(model, asked), 0.06);
  EXPECT_LT(mean_error(model, asked), 0.5 * mean_error(fit(known, ndims), asked));
  EXPECT_NEAR(model.relative_error, mean_error(model, asked), 0.03);
  EXPECT_EQ(train(known, ndims, 132), model) << "the same samples gave another model";
}

TEST(Training, what_a_line_explains_gets_no_trees) {
  const auto line = [](const Sample& sample) { return 1e-5 + sample.work / 1e12; };
  EXPECT_FALSE(train(measured(blocks(1000, 64, 8192, 1), line, 0.03, 2), ndims, 132).forest);
  EXPECT_FALSE(train(measured(blocks(79, 64, 8192, 1), jumping, 0.02, 2), ndims, 132).forest) << "from few samples";
}

TEST(Training, shallow_trees_learn_from_as_many_blocks_as_a_short_calibration_measures) {
  const auto known = measured(blocks(200, 64, 8192, 1), jumping, 0.02, 2);
  const auto asked = measured(blocks(300, 64, 8192, 3), jumping, 0, 4);
  const TimeModel model = train(known, ndims, 1);
  ASSERT_TRUE(model.forest);
  EXPECT_LT(mean_error(model, asked), 0.8 * mean_error(fit(known, ndims), asked));
}

TEST(Training, errors_as_worked_out_by_hand) {
  std::vector<Sample> samples(2);
  samples[0].seconds = 1, samples[1].seconds = 2;
  const Errors errors = errors_of({1.1, 1.4}, samples);
  EXPECT_NEAR(errors.mean, 0.2, 1e-12);
  EXPECT_NEAR(errors.worst, 0.3, 1e-12);
  EXPECT_NEAR(errors.of_95_in_100, 0.3, 1e-12);
  EXPECT_NEAR(errors.rmse, std::sqrt((0.01 + 0.36) / 2), 1e-12);
}

TEST(Training, linear_regression_finds_a_line) {
  const auto samples = measured(blocks(50, 64, 1024, 1), [](const Sample& s) { return 3e-6 + s.work * 2e-12; }, 0, 1);
  const auto predicted = linear_regression(samples, samples);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_NEAR(predicted[i] / samples[i].seconds, 1, 1e-6);
}

struct Shipped {
  const char* type;
  const char* table;
};

class ShippedModels : public ::testing::TestWithParam<Shipped> {};

TEST_P(ShippedModels, err_by_six_per_cent_at_most_on_shapes_that_they_never_saw) {
  const Table asked = read_table(samples_folder + "gemm-" + GetParam().type + "-" + GetParam().table + ".tsv");
  const Table known = read_table(samples_folder + "gemm-" + GetParam().type + "-train.tsv");
  ASSERT_GE(asked.samples.size(), 250u);
  const auto models = load_models(POAS_MODELS "/nvidia-h200.json");
  ASSERT_TRUE(models);
  const Type type = asked.type == "tf32" ? Type::fp32 : type_from_string(asked.type);
  const TimeModel& model = models->times.at({"NVIDIA H200", "gemm", asked.implementation, type});
  const Errors errors = errors_of(predictions(model, asked.samples, ndims), asked.samples);
  EXPECT_LE(errors.mean, 0.06);
  EXPECT_LE(errors.of_95_in_100, 0.18);
  EXPECT_LT(errors.mean, 0.1 * errors_of(linear_regression(known.samples, asked.samples), asked.samples).mean);
}

INSTANTIATE_TEST_SUITE_P(H200, ShippedModels,
                         ::testing::Values(Shipped{"fp32", "test"}, Shipped{"tf32", "test"}, Shipped{"fp64", "test"},
                                           Shipped{"bf16", "test"}, Shipped{"fp32", "test2"}, Shipped{"tf32", "test2"},
                                           Shipped{"fp64", "test2"}, Shipped{"bf16", "test2"}),
                         [](const auto& one) { return std::string(one.param.type) + "_" + one.param.table; });

// Copies of pinned memory in one piece.
std::vector<Sample> copies(const std::string& table, const std::string& wanted) {
  std::ifstream stream(samples_folder + "copies-" + table + ".tsv");
  std::vector<Sample> samples;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string direction, memory;
    std::uint64_t bytes = 0, piece = 0, pitch = 0;
    double seconds = 0;
    if (!(words >> direction >> memory >> bytes >> piece >> pitch >> seconds)) continue;
    if (direction != wanted || memory != "pinned" || piece != bytes) continue;
    Sample sample = testing::block(bytes, 1, 1);
    sample.work = static_cast<double>(bytes);
    sample.bytes = 0;
    sample.seconds = seconds;
    samples.push_back(sample);
  }
  return samples;
}

TEST(Copies, of_pinned_memory_are_a_latency_and_a_rate) {
  for (const char* direction : {"h2d", "d2h"}) {
    const auto asked = copies("test", direction);
    ASSERT_GE(asked.size(), 30u);
    const TimeModel model = fit(copies("train", direction), 1);
    EXPECT_LE(errors_of(predictions(model, asked, 1), asked).mean, 0.05) << direction;
    EXPECT_NEAR(1e-9 / model.seconds_per_flop, 55, 3) << direction << ", GB/s of a PCIe 5 link with 16 lanes";
  }
}

}  // namespace
}  // namespace poas::training

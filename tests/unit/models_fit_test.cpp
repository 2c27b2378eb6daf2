// The fit must find the coefficients that generated the samples.
#include <gtest/gtest.h>

#include <limits>

#include "models_samples.hpp"
#include "poas/error.hpp"

namespace poas {
namespace {

using namespace poas::testing;

constexpr Seconds launch = 10e-6;
constexpr double per_flop = 1 / 5e12, per_byte = 1 / 400e9;

Seconds linear(const Sample& sample) { return launch + sample.work * per_flop + sample.bytes * per_byte; }

// Tiles of 128 x 256 on 132 processors, as many at a time as there are processors.
Seconds staircase(const Sample& sample) {
  const double tiles = std::ceil(static_cast<double>(sample.extents[0]) / 128) *
                       std::ceil(static_cast<double>(sample.extents[1]) / 256);
  const double waves = std::ceil(tiles / 132);
  return 8e-6 + waves * 128 * 256 * 2 * static_cast<double>(sample.extents[2]) * 132 / 385e12;
}

Seconds core(const Sample& sample) {
  const double m = std::ceil(static_cast<double>(sample.extents[0]) / 16) * 16;
  const double n = std::ceil(static_cast<double>(sample.extents[1]) / 8) * 8;
  return 2e-6 + 2 * m * n * static_cast<double>(sample.extents[2]) / 100e9;
}

bool unquantised(const TimeModel& model) { return model.tile == TimeModel{}.tile && model.parallel == 1; }

TEST(ModelsFit, exact_samples_give_the_exact_coefficients) {
  const TimeModel model = fit(measured(blocks(12, 32, 4096, 1), linear, 0, 1), 3);
  EXPECT_NEAR(model.fixed, launch, 1e-6 * launch);
  EXPECT_NEAR(model.seconds_per_flop, per_flop, 1e-6 * per_flop);
  EXPECT_NEAR(model.seconds_per_byte, per_byte, 1e-6 * per_byte);
  EXPECT_TRUE(unquantised(model));
  EXPECT_EQ(model.samples, 12u);
  EXPECT_LT(model.relative_error, 1e-9);
}

TEST(ModelsFit, noise_of_three_per_cent_leaves_the_coefficients_recognisable) {
  const TimeModel model = fit(measured(blocks(60, 32, 8192, 2), linear, 0.03, 2), 3);
  EXPECT_NEAR(model.fixed, launch, 0.1 * launch);
  EXPECT_NEAR(model.seconds_per_flop, per_flop, 0.05 * per_flop);
  EXPECT_NEAR(model.seconds_per_byte, per_byte, 0.2 * per_byte);
  EXPECT_NEAR(model.relative_error, 0.03 * std::sqrt(2 / M_PI), 0.01);  // mean of a half-normal
}

class Seeds : public ::testing::TestWithParam<unsigned> {};

TEST_P(Seeds, a_linear_truth_needs_no_tiles) {
  for (const unsigned count : {8u, 12u, 20u, 40u}) {
    const TimeModel model = fit(measured(blocks(count, 64, 4096, GetParam()), linear, 0.03, GetParam()), 3);
    EXPECT_TRUE(unquantised(model)) << count << " samples: tile " << model.tile[0] << " x " << model.tile[1]
                                    << ", parallel " << model.parallel;
    EXPECT_LT(mean_error(model, blocks(100, 64, 4096, 1000), linear), 0.05) << count << " samples";
  }
}

TEST_P(Seeds, a_staircase_is_predicted_between_the_samples) {
  const TimeModel model = fit(measured(blocks(60, 128, 8192, GetParam()), staircase, 0.03, GetParam()), 3);
  EXPECT_LT(mean_error(model, blocks(200, 128, 8192, 1000), staircase), 0.04)
      << "tile " << model.tile[0] << " x " << model.tile[1] << ", parallel " << model.parallel;
}

TEST_P(Seeds, register_tiles_of_a_core_are_predicted) {
  const TimeModel model = fit(measured(blocks(40, 8, 512, GetParam()), core, 0.03, GetParam()), 3);
  EXPECT_LT(mean_error(model, blocks(200, 8, 512, 1000), core), 0.04)
      << "tile " << model.tile[0] << " x " << model.tile[1] << ", parallel " << model.parallel;
}

TEST_P(Seeds, one_wild_sample_of_ten_moves_nothing) {
  const std::vector<Sample> clean = measured(blocks(10, 64, 4096, GetParam()), linear, 0.01, GetParam());
  const std::vector<Sample> asked = blocks(100, 64, 4096, 1000);
  for (std::size_t i = 0; i < clean.size(); ++i)
    for (const double factor : {100.0, 0.01}) {
      std::vector<Sample> wild = clean;
      wild[i].seconds *= factor;
      EXPECT_LT(mean_error(fit(wild, 3), asked, linear), 0.04) << "sample " << i << " times " << factor;
    }
}

INSTANTIATE_TEST_SUITE_P(ModelsFit, Seeds, ::testing::Range(1u, 9u));

TEST(ModelsFit, one_dimension_has_tiles_of_powers_of_two) {
  std::vector<Sample> samples;
  for (std::uint64_t n = 1; n < 4000; n += 61) {
    Sample sample;
    sample.extents.fill(1);
    sample.extents[0] = n;
    sample.work = static_cast<double>(n);
    sample.bytes = 8.0 * static_cast<double>(n);
    sample.seconds = 1e-6 + std::ceil(static_cast<double>(n) / 256) * 256 * 1e-9;
    samples.push_back(sample);
  }
  const TimeModel model = fit(samples, 1);
  EXPECT_EQ(model.tile, (Extents{256, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(model.parallel, 1u);
  EXPECT_NEAR(model.seconds_per_flop, 1e-9, 1e-14);
}

TEST(ModelsFit, coefficients_are_never_negative) {
  // Falling with size: without the constraint the slope would be negative.
  const auto falling = [](const Sample& sample) { return 1e-3 / std::sqrt(sample.work); };
  const TimeModel model = fit(measured(blocks(20, 16, 1024, 5), falling, 0, 5), 3);
  EXPECT_GE(model.fixed, 0);
  EXPECT_GE(model.seconds_per_flop, 0);
  EXPECT_GE(model.seconds_per_byte, 0);
}

TEST(ModelsFit, proportional_features_still_give_the_right_time) {
  std::vector<Sample> samples = measured(blocks(10, 64, 1024, 6), linear, 0, 6);
  for (Sample& sample : samples) {
    sample.bytes = 3 * sample.work;
    sample.seconds = launch + sample.work * per_flop;
  }
  const TimeModel model = fit(samples, 3);
  EXPECT_NEAR(model.seconds_per_flop + 3 * model.seconds_per_byte, per_flop, 1e-6 * per_flop);
}

TEST(ModelsFit, same_size_again_and_again_is_predicted) {
  std::vector<Sample> samples(5, block(256, 256, 256));
  for (Sample& sample : samples) sample.seconds = 1e-3;
  EXPECT_NEAR(predicted(fit(samples, 3), samples[0]), 1e-3, 1e-6);
}

TEST(ModelsFit, samples_that_are_not_positive_and_finite_are_dropped) {
  const std::vector<Sample> clean = measured(blocks(12, 32, 4096, 3), linear, 0, 3);
  std::vector<Sample> mixed = clean;
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Sample time = clean[0], work = clean[1];
    time.seconds = bad;
    work.work = bad;
    mixed.insert(mixed.begin(), {time, work});
  }
  Sample empty = clean[2];
  empty.extents[0] = 0;
  mixed.push_back(empty);
  EXPECT_EQ(fit(mixed, 3), fit(clean, 3));
}

TEST(ModelsFit, too_few_samples_are_refused_with_words) {
  std::vector<Sample> samples = measured(blocks(3, 32, 4096, 4), linear, 0, 4);
  EXPECT_NO_THROW(fit(samples, 3));
  samples[1].seconds = 0;
  try {
    fit(samples, 3);
    FAIL() << "two valid samples were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::numerical);
    EXPECT_NE(std::string(error.what()).find("2 of 3 samples"), std::string::npos) << error.what();
  }
  EXPECT_THROW(fit({}, 3), Error);
  EXPECT_THROW(fit(samples, 0), Error);
  EXPECT_THROW(fit(samples, 9), Error);
}

}  // namespace
}  // namespace poas

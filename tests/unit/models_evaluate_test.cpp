// Values of time models worked out by hand.
#include <gtest/gtest.h>

#include "models_samples.hpp"
#include "poas/error.hpp"

namespace poas {
namespace {

using namespace poas::testing;

TEST(ModelsEvaluate, without_tiles_the_padded_work_is_the_work) {
  const Operation operation = product(100, 70, 30);
  EXPECT_DOUBLE_EQ(padded_work(TimeModel{}, operation, extents_of(operation)), 2.0 * 100 * 70 * 30);
}

TEST(ModelsEvaluate, extents_are_rounded_up_to_tiles) {
  const Operation operation = product(100, 70, 30);
  TimeModel model;
  model.tile = {64, 32, 1, 1, 1, 1, 1, 1};
  EXPECT_DOUBLE_EQ(padded_work(model, operation, extents_of(operation)), 2.0 * 128 * 96 * 30);
}

TEST(ModelsEvaluate, tiles_are_rounded_up_to_waves) {
  TimeModel model;
  model.tile = {128, 256, 1, 1, 1, 1, 1, 1};
  model.parallel = 132;
  const double tile = 2.0 * 128 * 256 * 30;
  const auto asked = [&](std::uint64_t m, std::uint64_t n) {
    const Operation operation = product(m, n, 30);
    return padded_work(model, operation, extents_of(operation));
  };
  EXPECT_DOUBLE_EQ(asked(1, 1), 132 * tile);
  EXPECT_DOUBLE_EQ(asked(12 * 128, 11 * 256), 132 * tile);
  EXPECT_DOUBLE_EQ(asked(12 * 128 + 1, 11 * 256), 2 * 132 * tile);
}

TEST(ModelsEvaluate, sides_near_the_limit_do_not_wrap) {
  const std::uint64_t side = (1ull << 32) - 1;
  TimeModel model;
  model.tile = {256, 256, 1, 1, 1, 1, 1, 1};
  const double full = std::pow(2.0, 32);
  EXPECT_DOUBLE_EQ(padded_work(model, product(side, side, side), {side, side, side, 1, 1, 1, 1, 1}),
                   2 * full * full * static_cast<double>(side));
}

TEST(ModelsEvaluate, the_three_terms_are_added) {
  const Operation operation = product(100, 70, 30);
  TimeModel model;
  model.fixed = 5;
  model.seconds_per_flop = 2;
  model.seconds_per_byte = 3;
  const double all_bytes = 4.0 * (100 * 30 + 30 * 70 + 100 * 70);
  EXPECT_DOUBLE_EQ(evaluate(model, operation, whole_box(operation)),
                   5 + 2 * 2.0 * 100 * 70 * 30 + 3 * all_bytes);

  Box part = whole_box(operation);
  part[0] = {90, 100};
  const double part_bytes = 4.0 * (10 * 30 + 30 * 70 + 10 * 70);
  EXPECT_DOUBLE_EQ(evaluate(model, operation, part), 5 + 2 * 2.0 * 10 * 70 * 30 + 3 * part_bytes);
}

TEST(ModelsEvaluate, defaults_are_usable_and_nobodys_measurement) {
  for (const UnitKind kind : {UnitKind::cpu, UnitKind::cuda, UnitKind::tensor, UnitKind::opencl})
    for (const Type type : {Type::fp64, Type::fp32, Type::fp16, Type::bf16}) {
      const TimeModel model = default_model(Unit{"unit", kind, -1, 1}, type, precision_of(type));
      EXPECT_GT(model.fixed, 0);
      EXPECT_GT(model.seconds_per_flop, 0);
      EXPECT_EQ(model.samples, 0u);
    }
}

TEST(ModelsEvaluate, defaults_rank_the_kinds_as_hardware_does) {
  const auto cost = [](UnitKind kind, Type type, Precision precision) {
    return default_model(Unit{"unit", kind, -1, 1}, type, precision).seconds_per_flop;
  };
  EXPECT_LT(cost(UnitKind::cuda, Type::fp32, Precision::fp32),
            cost(UnitKind::cpu, Type::fp32, Precision::fp32));
  EXPECT_LT(cost(UnitKind::tensor, Type::fp32, Precision::tf32),
            cost(UnitKind::cuda, Type::fp32, Precision::tf32));
  EXPECT_LT(cost(UnitKind::cpu, Type::fp32, Precision::fp32),
            cost(UnitKind::cpu, Type::fp64, Precision::fp64));
  // Asking for more than the elements hold changes nothing.
  EXPECT_EQ(cost(UnitKind::cuda, Type::fp32, Precision::fp64),
            cost(UnitKind::cuda, Type::fp32, Precision::fp32));
}

}  // namespace
}  // namespace poas

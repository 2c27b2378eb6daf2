// Which implementation and model each unit gets, and in what words it is left out.
#include <gtest/gtest.h>

#include <limits>

#include "poas/plan.hpp"

namespace poas {
namespace {

Implementation implementation(const char* name, UnitKind kind, Precision precision) {
  Implementation one;
  one.name = name;
  one.kind = kind;
  one.precision = precision;
  one.multiple.fill(1);
  one.least.fill(1);
  return one;
}

Operation scale() {
  Operation operation;
  operation.name = "scale";
  operation.type = Type::fp32;
  operation.precision = Precision::fp32;
  operation.dims = {{"i", 1000, true}};
  operation.operands = {{Access::read_write, 4, {{Follow::split, 0, 1000, 0, 0}}}};
  operation.work_per_point = 2;
  operation.implementations = {implementation("slow", UnitKind::cpu, Precision::fp32),
                               implementation("fast", UnitKind::cpu, Precision::fp32),
                               implementation("tf32", UnitKind::tensor, Precision::tf32),
                               implementation("bf16", UnitKind::tensor, Precision::bf16)};
  return operation;
}

Machine node() {
  Machine machine;
  machine.name = "node";
  machine.devices = {{"cuda0", 1e9, 1e10, 1e10, 1e-5, 0}};
  machine.units = {{"cpu", UnitKind::cpu, -1, 4}, {"cuda0.tensor", UnitKind::tensor, 0, 1}};
  return machine;
}

TimeModel measured(double seconds_per_flop) {
  TimeModel model;
  model.seconds_per_flop = seconds_per_flop;
  model.samples = 3;
  return model;
}

Models models_of(std::initializer_list<std::pair<ModelKey, TimeModel>> times) {
  Models models;
  for (const auto& [key, model] : times) models.times[key] = model;
  return models;
}

Request allowing(Precision precision) {
  Request request;
  request.precision = precision;
  return request;
}

TEST(Predict, TakesTheFastestMeasuredImplementation) {
  const Models models = models_of({{{"cpu", "scale", "slow", Type::fp32}, measured(2e-9)},
                                   {{"cpu", "scale", "fast", Type::fp32}, measured(1e-9)}});
  const CostTable table = predict(scale(), node(), models, {});
  ASSERT_EQ(table.units.size(), 2u);
  EXPECT_EQ(table.units[0].implementation, 1);
  EXPECT_EQ(table.units[0].model, measured(1e-9));
  EXPECT_FALSE(table.guessed);
}

TEST(Predict, AMeasurementBeatsAGuess) {
  // No guess says 1 s per flop.
  const Models models = models_of({{{"cpu", "scale", "slow", Type::fp32}, measured(1)}});
  const CostTable table = predict(scale(), node(), models, {});
  EXPECT_EQ(table.units[0].implementation, 0);
  EXPECT_FALSE(table.guessed);
}

TEST(Predict, GuessesWhatNobodyMeasured) {
  const Machine machine = node();
  Models other = models_of({{{"cpu", "scale", "fast", Type::fp64}, measured(1)},
                            {{"cpu", "other", "fast", Type::fp32}, measured(1)},
                            {{"cpu1", "scale", "fast", Type::fp32}, measured(1)}});
  const CostTable table = predict(scale(), machine, other, {});
  EXPECT_TRUE(table.guessed);
  ASSERT_TRUE(table.units[0].usable());
  EXPECT_EQ(table.units[0].model, default_model(machine.units[0], Type::fp32, Precision::fp32));
}

TEST(Predict, KeepsThePrecision) {
  const CostTable table = predict(scale(), node(), {}, {});
  EXPECT_FALSE(table.units[1].usable());
  EXPECT_EQ(table.units[1].why_not, "no implementation with fp32 precision");
}

TEST(Predict, ARequestMayAllowLess) {
  const CostTable tf32 = predict(scale(), node(), {}, allowing(Precision::tf32));
  EXPECT_EQ(tf32.units[1].implementation, 2);
  const Models models = models_of({{{"cuda0.tensor", "scale", "tf32", Type::fp32}, measured(2e-12)},
                                   {{"cuda0.tensor", "scale", "bf16", Type::fp32}, measured(1e-12)}});
  EXPECT_EQ(predict(scale(), node(), models, allowing(Precision::tf32)).units[1].implementation, 2);
  EXPECT_EQ(predict(scale(), node(), models, allowing(Precision::bf16)).units[1].implementation, 3);
}

TEST(Predict, ARequestNeverDemandsMore) {
  Operation half = scale();
  half.type = Type::fp16;
  half.precision = Precision::fp16;
  half.implementations = {implementation("half", UnitKind::tensor, Precision::fp16),
                          implementation("via-fp32", UnitKind::cpu, Precision::fp32)};
  const CostTable table = predict(half, node(), {}, allowing(Precision::fp64));
  EXPECT_EQ(table.units[0].implementation, 1);
  EXPECT_EQ(table.units[1].implementation, 0);
}

TEST(Predict, LeavesOutUnitsThatAreNotAllowed) {
  Request request;
  request.units = {"cuda0.tensor"};
  request.precision = Precision::tf32;
  const CostTable table = predict(scale(), node(), {}, request);
  EXPECT_FALSE(table.units[0].usable());
  EXPECT_EQ(table.units[0].why_not, "not in POAS_UNITS");
  EXPECT_TRUE(table.units[1].usable());
}

TEST(Predict, PassesOnARefusal) {
  Operation operation = scale();
  operation.implementations[0].refusals = {{"cpu", "needs AVX-512"}, {"cpu1", "other words"}};
  EXPECT_EQ(predict(operation, node(), {}, {}).units[0].implementation, 1);
  operation.implementations.erase(operation.implementations.begin() + 1);
  const CostTable table = predict(operation, node(), {}, {});
  EXPECT_FALSE(table.units[0].usable());
  EXPECT_EQ(table.units[0].why_not, "needs AVX-512");
}

TEST(Predict, SaysThatAKindHasNoImplementation) {
  Operation operation = scale();
  operation.implementations.resize(2);
  EXPECT_EQ(predict(operation, node(), {}, {}).units[1].why_not,
            "no implementation for units of kind tensor");
}

TEST(Predict, LeavesOutWhatNeedsLargerBlocksThanThereAre) {
  Operation operation = scale();
  operation.implementations[2].least[0] = 1001;
  const CostTable table = predict(operation, node(), {}, allowing(Precision::tf32));
  EXPECT_EQ(table.units[1].why_not, "tf32 needs at least 1001 of i");
}

TEST(Predict, BrokenModelsAreNotUsed) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), -1.0, 1e300,
                             std::numeric_limits<double>::infinity()}) {
    const Models models = models_of({{{"cpu", "scale", "slow", Type::fp32}, measured(value)},
                                     {{"cpu", "scale", "fast", Type::fp32}, measured(value)}});
    const CostTable table = predict(scale(), node(), models, {});
    EXPECT_FALSE(table.units[0].usable()) << value;
    EXPECT_NE(table.units[0].why_not.find("no usable time"), std::string::npos) << table.units[0].why_not;
  }
}

TEST(Predict, AUnitWithoutAModelTakesThatOfItsProduct) {
  Machine machine = node();
  machine.devices[0].product = "Maker Card 7";
  Models models = models_of({{{"Maker Card 7", "scale", "tf32", Type::fp32}, measured(3e-9)}});
  EXPECT_EQ(predict(scale(), node(), models, allowing(Precision::tf32)).units[1].model.samples, 0u) << "another product";
  EXPECT_EQ(predict(scale(), machine, models, allowing(Precision::tf32)).units[1].model, measured(3e-9));
  models.times[{"cuda0.tensor", "scale", "tf32", Type::fp32}] = measured(5e-9);
  EXPECT_EQ(predict(scale(), machine, models, allowing(Precision::tf32)).units[1].model, measured(5e-9));
}

}  // namespace
}  // namespace poas

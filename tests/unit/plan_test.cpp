// Decisions of plan(), and what validate() refuses.
#include <gtest/gtest.h>

#include "poas/error.hpp"
#include "support/small_nodes.hpp"

namespace poas::test {
namespace {

// A CPU of one flop/s and one of three: together four.
Node two_hosts() { return node().host("slow", 1, 1).host("fast", 1, 3); }

Request with(SplitMode mode) {
  Request request;
  request.split = mode;
  return request;
}

TEST(Plan, TwoUnitsShareBySpeed) {
  const Operation operation = pure_work(1000);
  const Node node = two_hosts();
  const Plan plan = node.plan(operation);
  EXPECT_NO_THROW(validate(plan, operation, node.machine));
  EXPECT_TRUE(plan.split);
  EXPECT_DOUBLE_EQ(plan.makespan, 250);
  EXPECT_DOUBLE_EQ(plan.units[0].share, 0.25);
  EXPECT_DOUBLE_EQ(plan.units[1].share, 0.75);
  EXPECT_DOUBLE_EQ(plan.units[1].compute, 250);
  EXPECT_NEAR(plan.bound, 250, 1e-6);
  EXPECT_NEAR(plan.gap, 0, 1e-8);
  EXPECT_EQ(plan.operation, "pure fp32 n=1000");
  EXPECT_EQ(plan.source, "measured");
}

TEST(Plan, SplitOverheadIsPartOfTheMakespan) {
  Node node = two_hosts();
  node.machine.split_overhead = 7;
  EXPECT_DOUBLE_EQ(node.plan(pure_work(1000)).makespan, 257);
}

TEST(Plan, NeverSplitsWhenToldSo) {
  const Plan plan = two_hosts().plan(pure_work(1000), with(SplitMode::never));
  EXPECT_FALSE(plan.split);
  EXPECT_EQ(plan.whole_unit, 1);
  EXPECT_EQ(plan.whole_implementation, 0);
  EXPECT_NEAR(plan.makespan, 1000 / 3.0, 1e-9);
  EXPECT_EQ(plan.units[0].reason, "splitting was switched off");
}

TEST(Plan, SmallTasksStayWhole) {
  Node node = two_hosts();
  node.machine.split_overhead = 400;
  const Plan plan = node.plan(pure_work(1000));
  EXPECT_FALSE(plan.split);
  EXPECT_NE(plan.reason.find("small"), std::string::npos) << plan.reason;
}

TEST(Plan, CoExecutionMustGainMoreThanTheModelsErr) {
  // The helper adds 5 %, if it is as fast as its model says.
  Node node = test::node().host("main", 1, 100).host("helper", 1, 5);
  const Operation operation = pure_work(100000);
  TimeModel& helper = node.models.times.at({"helper", "pure", "cpu", Type::fp32});
  helper.relative_error = 0.01;
  EXPECT_EQ(node.plan(operation).units[1].blocks, 1u);
  helper.relative_error = 0.1;
  const Plan plan = node.plan(operation);
  EXPECT_EQ(plan.units[1].blocks, 0u);
  EXPECT_NE(plan.reason.find("less than the models may err"), std::string::npos) << plan.reason;
}

TEST(Plan, CoExecutionMustGainEnough) {
  // The second unit adds 2 %.
  const Node node = test::node().host("main", 1, 100).host("helper", 1, 2);
  const Operation operation = pure_work(10200);
  Request careful;
  careful.least_gain = 0.03;
  const Plan cautious = node.plan(operation, careful);
  EXPECT_EQ(cautious.units[0].share, 1);
  EXPECT_NE(cautious.reason.find("less than the 3.0 %"), std::string::npos) << cautious.reason;
  Request eager;
  eager.least_gain = 0.01;
  EXPECT_DOUBLE_EQ(node.plan(operation, eager).makespan, 100);
}

TEST(Plan, AlwaysUsesEveryUnitWhateverItCosts) {
  const Node node = test::node().host("main", 1, 1e6).host("helper", 1, 1).host("third", 1, 2);
  const Operation operation = pure_work(1000);
  const Plan plan = node.plan(operation, with(SplitMode::always));
  for (const PlanUnit& unit : plan.units) EXPECT_GE(unit.blocks, 1u) << unit.name;
  EXPECT_NO_THROW(validate(plan, operation, node.machine));
}

TEST(Plan, AlwaysWithFewerItemsThanUnits) {
  const Node node = test::node().host("a", 1, 1).host("b", 1, 1).host("c", 1, 1);
  Operation operation = pure_work(2);
  for (Implementation& one : operation.implementations) one.multiple[0] = 64;
  const Plan plan = node.plan(operation, with(SplitMode::always));
  EXPECT_TRUE(plan.split);
  EXPECT_EQ(plan.tasks.blocks.size(), 2u);
  EXPECT_NE(plan.tasks.blocks[0].unit, plan.tasks.blocks[1].unit);
}

TEST(Plan, OneUnitAloneUsesAllItsCores) {
  const Node node = test::node().host("cpu", 8, 1);
  const Plan plan = node.plan(pure_work(800));
  EXPECT_TRUE(plan.split);
  EXPECT_DOUBLE_EQ(plan.makespan, 100);
}

TEST(Plan, ADeviceAloneOverlapsCopies) {
  // Whole: 6400 bytes in, 6400 s of work, 6400 bytes out = 19200 s; in panels all three overlap.
  const Node node = test::node().device("gpu", 1, 1, 0);
  const Plan plan = node.plan(stream(6400));
  EXPECT_TRUE(plan.split);
  EXPECT_GE(plan.makespan, 6400);
  EXPECT_LE(plan.makespan, 6400 * 1.04);
}

TEST(Plan, BusyUnitsGetLess) {
  const Operation operation = pure_work(1000);
  const Node node = test::node().host("a", 1, 1).host("b", 1, 1);
  const Plan plan = poas::plan(operation, node.machine, node.models, {{200, 0}}, {});
  EXPECT_DOUBLE_EQ(plan.units[0].share, 0.4);
  EXPECT_DOUBLE_EQ(plan.makespan, 600);
}

TEST(Plan, SaysWhyNobodyCanRunIt) {
  Operation operation = pure_work(10);
  operation.precision = Precision::fp64;
  const Node node = two_hosts();
  const Plan plan = node.plan(operation);
  EXPECT_EQ(plan.whole_unit, -1);
  EXPECT_EQ(plan.status, SolveStatus::infeasible);
  EXPECT_NE(plan.reason.find("slow: "), std::string::npos) << plan.reason;
  EXPECT_FALSE(plan.units[0].reason.empty());
  EXPECT_NO_THROW(validate(plan, operation, node.machine));
}

TEST(Plan, WhatCannotBeCutRunsWholeOnTheFastest) {
  Operation operation = pure_work(1000);
  operation.dims[0].cuttable = false;
  const Plan plan = two_hosts().plan(operation);
  EXPECT_EQ(plan.whole_unit, 1);
  EXPECT_NE(plan.reason.find("not declared cuttable"), std::string::npos) << plan.reason;
}

TEST(Plan, OperandsBeyondTheMemoryAreStreamedOrLeftToTheHost) {
  Node node = test::node().host("cpu", 1, 1).device("gpu", 1000, 1e9, 0);
  node.machine.devices[0].memory_bytes = 1000;
  const Operation operation = stream(10000);
  const Plan plan = node.plan(operation);
  EXPECT_NO_THROW(validate(plan, operation, node.machine));
  // Alone the host needs 10000 s; with panels of at most 1000 bytes the device does almost all of it.
  EXPECT_LE(plan.makespan, 100);
  node.machine.devices[0].memory_bytes = 1;
  EXPECT_EQ(node.plan(operation).whole_unit, 0);
}

TEST(Plan, WrongInputIsRefused) {
  const Node node = two_hosts();
  EXPECT_THROW(poas::plan(pure_work(10), node.machine, node.models, {{1}}, {}), Error);
  EXPECT_THROW(node.plan(pure_work(0)), Error);
  Node broken = node;
  broken.machine.units[0].workers = 0;
  EXPECT_THROW(broken.plan(pure_work(10)), Error);
}

// A right plan by hand, to be spoilt.
class WrittenPlan : public testing::Test {
 protected:
  Operation operation = gemm(10, 10, 10);
  Node machine = node().host("cpu", 2, 1).device("gpu", 1, 1, 0);
  Plan plan;

  void SetUp() override {
    plan.split = true;
    plan.dim = 0;
    plan.costs = machine.costs(operation);
    plan.tasks.blocks = {piece(operation, 0, 0, 4, 1), piece(operation, 1, 4, 7, 1),
                         piece(operation, 0, 7, 10, 1)};
    ASSERT_NO_THROW(check());
  }
  void check() { validate(plan, operation, machine.machine); }
};

TEST_F(WrittenPlan, OverlapIsRefused) {
  plan.tasks.blocks[1].box[0].begin = 3;
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, AHoleIsRefused) {
  plan.tasks.blocks[1].box[0].begin = 5;
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, OverlapAndHoleOfOneSizeAreRefused) {
  plan.tasks.blocks[1].box[0] = {3, 6};
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, BlocksOutsideAndEmptyOnesAreRefused) {
  plan.tasks.blocks[2].box[0] = {7, 11};
  EXPECT_THROW(check(), Error);
  plan.tasks.blocks[2].box[0] = {10, 10};
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, UnknownUnitsAreRefused) {
  plan.tasks.blocks[0].unit = 2;
  EXPECT_THROW(check(), Error);
  plan.tasks.blocks[0].unit = -1;
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, BlocksBelowTheLeastAreRefused) {
  operation.implementations[1].least[0] = 4;
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, AnotherKindsImplementationIsRefused) {
  plan.costs.units[1].implementation = 0;
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, LessPrecisionIsRefusedUnlessAllowed) {
  operation.implementations[1].precision = Precision::tf32;
  EXPECT_THROW(check(), Error);
  plan.allowed = Precision::tf32;
  EXPECT_NO_THROW(check());
}

TEST_F(WrittenPlan, CuttingWhatCannotBeCutIsRefused) {
  for (Block& block : plan.tasks.blocks) block.box[2] = {0, 5};
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, TooMuchMemoryIsRefused) {
  // A 3 x 10, B 10 x 10, C 3 x 10 of 4 bytes.
  machine.machine.devices[0].memory_bytes = 640;
  EXPECT_NO_THROW(check());
  machine.machine.devices[0].memory_bytes = 639;
  EXPECT_THROW(check(), Error);
}

TEST_F(WrittenPlan, ASplitWithoutBlocksIsRefused) {
  plan.tasks.blocks.clear();
  EXPECT_THROW(check(), Error);
}

TEST(StartLatency, CountsOnceATaskOnADeviceAndMovesSmallTasksToTheHost) {
  Node both = node().host("cpu", 1, 1e9).device("gpu", 4e9, 1e12, 0);
  const Operation operation = pure_work(1000000);  // 1 ms on the host, 0.25 ms on the device
  Request never;
  never.split = SplitMode::never;
  const Plan before = both.plan(operation, never);
  ASSERT_EQ(before.whole_unit, 1);
  both.machine.devices[0].start_latency = 0.5e-3;
  const Plan after = both.plan(operation, never);
  EXPECT_EQ(after.whole_unit, 1);
  EXPECT_NEAR(after.makespan, before.makespan + 0.5e-3, 1e-9);
  both.machine.devices[0].start_latency = 1e-3;
  EXPECT_EQ(both.plan(operation, never).whole_unit, 0);
}

}  // namespace
}  // namespace poas::test

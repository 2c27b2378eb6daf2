// The energy of blocks and plans by closed forms, and the defaults where nobody measured.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/small_nodes.hpp"
#include "words.hpp"

namespace poas::test {
namespace {

// Both units share 1000 items 1 : 3 and take 250 s; 8 W and 20 W for one worker, 30 W idle.
Node measured_node() {
  Node both = node().host("slow", 1, 1).host("fast", 1, 3);
  both.machine.host_idle = {30, 0.05, true};
  both.models.powers[{"slow", "pure", "cpu", Type::fp32}] = {8, 0.3, true};
  both.models.powers[{"fast", "pure", "cpu", Type::fp32}] = {20, 0.1, true};
  return both;
}

TEST(Energy, OfABlockIsPowerTimesTime) {
  UnitCost cost;
  cost.implementation = 0;
  cost.power = {50, 0.3, true};
  cost.model.relative_error = 0.4;
  const Energy block = energy(cost, 3);
  EXPECT_DOUBLE_EQ(block.joules, 150);
  EXPECT_DOUBLE_EQ(block.relative_error, 0.5);  // 3, 4, 5
}

TEST(Energy, OfAPlanIsThatOfItsUnitsAndOfTheIdleNode) {
  const Plan plan = measured_node().plan(pure_work(1000));
  ASSERT_TRUE(plan.split);
  ASSERT_DOUBLE_EQ(plan.makespan, 250);
  EXPECT_DOUBLE_EQ(plan.units[0].joules, 8 * 250);
  EXPECT_DOUBLE_EQ(plan.units[0].joules_error, 0.3);
  EXPECT_DOUBLE_EQ(plan.units[1].joules, 20 * 250);
  EXPECT_DOUBLE_EQ(plan.idle_joules, 30 * 250);
  EXPECT_DOUBLE_EQ(plan.joules, 58 * 250);
  EXPECT_EQ(plan.power_source, "measured");
}

TEST(Energy, WorkersOfAUnitAddUp) {
  Node cores = node().host("cpu", 4, 1);
  cores.machine.host_idle = {10, 0, true};
  cores.models.powers[{"cpu", "pure", "cpu", Type::fp32}] = {5, 0, true};
  const Plan plan = cores.plan(pure_work(1000));
  ASSERT_TRUE(plan.split);
  EXPECT_DOUBLE_EQ(plan.makespan, 250);
  EXPECT_DOUBLE_EQ(plan.units[0].joules, 5 * 1000);
  EXPECT_DOUBLE_EQ(plan.joules, 5 * 1000 + 10 * 250);
}

TEST(Energy, OfAWholeTaskIsThatOfItsUnitAlone) {
  Request request;
  request.split = SplitMode::never;
  const Plan plan = measured_node().plan(pure_work(900), request);
  ASSERT_EQ(plan.whole_unit, 1);
  EXPECT_EQ(plan.units[0].joules, 0);
  EXPECT_DOUBLE_EQ(plan.units[1].joules, 20 * 300);
  EXPECT_DOUBLE_EQ(plan.joules, 50 * 300);
}

TEST(Energy, WhatNobodyMeasuredIsADefaultByKind) {
  const Node both = node().host("cpu", 3, 1).device("cuda0", 1000, 1e9, 0);
  const CostTable costs = both.costs(pure_work(1000));
  EXPECT_EQ(costs.units[0].power, default_power(UnitKind::cpu));
  EXPECT_EQ(costs.units[1].power, default_power(UnitKind::cuda));
  const Power idle = idle_power(both.machine);
  EXPECT_DOUBLE_EQ(idle.watts, 3 * default_idle(UnitKind::cpu).watts + default_idle(UnitKind::cuda).watts);
  EXPECT_DOUBLE_EQ(idle.relative_error, 1);
  EXPECT_FALSE(idle.measured);
  EXPECT_EQ(both.plan(pure_work(1000)).power_source, "default");
}

TEST(Energy, DefaultsArePositiveAndUnsure) {
  for (const UnitKind kind : {UnitKind::cpu, UnitKind::cuda, UnitKind::tensor, UnitKind::opencl})
    for (const Power& power : {default_power(kind), default_idle(kind)}) {
      EXPECT_GT(power.watts, 0);
      EXPECT_EQ(power.relative_error, 1);
      EXPECT_FALSE(power.measured);
    }
  EXPECT_GT(default_power(UnitKind::cuda).watts, default_power(UnitKind::cpu).watts);
}

TEST(Energy, TheSourceIsThatOfTheUnitsThatCompute) {
  Node both = measured_node();
  both.models.powers.erase({"slow", "pure", "cpu", Type::fp32});
  EXPECT_EQ(both.plan(pure_work(1000)).power_source, "default");
  Request fast;
  fast.units = {"fast"};
  EXPECT_EQ(both.plan(pure_work(1000), fast).power_source, "measured");
  both.machine.host_idle = {};
  EXPECT_EQ(both.plan(pure_work(1000), fast).power_source, "default");
}

TEST(Energy, AProductsPowerServesItsDevices) {
  Node one = node().device("cuda0", 1, 1e9, 0);
  one.machine.devices[0].product = "Maker Card 7";
  one.models.powers[{"Maker Card 7", "pure", "cuda", Type::fp32}] = {300, 0.2, true};
  EXPECT_EQ(one.costs(pure_work(10)).units[0].power.watts, 300);
  one.models.powers[{"cuda0", "pure", "cuda", Type::fp32}] = {280, 0.1, true};
  EXPECT_EQ(one.costs(pure_work(10)).units[0].power.watts, 280);
}

TEST(Energy, IsShownAndWritten) {
  const Plan plan = measured_node().plan(pure_work(1000));
  const std::string text = explain(plan);
  for (const char* part : {"energy\n", "2.00 kJ", "5.00 kJ",
                           "energy 14.5 kJ predicted, of these 7.50 kJ idle; measured watts"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const auto json = nlohmann::json::parse(to_json(plan));
  EXPECT_DOUBLE_EQ(json["joules"].get<double>(), 58 * 250);
  EXPECT_DOUBLE_EQ(json["idle_joules"].get<double>(), 30 * 250);
  EXPECT_EQ(json["power_source"], "measured");
  EXPECT_DOUBLE_EQ(json["units"][0]["joules"].get<double>(), 8 * 250);
  EXPECT_DOUBLE_EQ(json["units"][0]["joules_error"].get<double>(), 0.3);
}

TEST(EnergyInWords, ThreeDigitsAndAUnit) {
  EXPECT_EQ(detail::energy_in_words(0), "0 J");
  EXPECT_EQ(detail::energy_in_words(1.234), "1.23 J");
  EXPECT_EQ(detail::energy_in_words(14500), "14.5 kJ");
  EXPECT_EQ(detail::energy_in_words(0.0042), "4.20 mJ");
  EXPECT_EQ(detail::energy_in_words(2.5e-5), "25.0 uJ");
}

}  // namespace
}  // namespace poas::test

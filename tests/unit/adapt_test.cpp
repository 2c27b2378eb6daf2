// Real shares to aligned ranges.
#include "adapt/adapt.hpp"

#include <gtest/gtest.h>

#include "support/small_nodes.hpp"

namespace poas::test {
namespace {

Split split_of(int dim, std::vector<double> share) {
  Split split;
  split.dim = dim;
  split.share = std::move(share);
  return split;
}

std::vector<std::uint64_t> items(const PartitionPlan& plan, std::size_t units) {
  std::vector<std::uint64_t> sizes(units, 0);
  for (const Part& part : plan.parts) sizes[static_cast<std::size_t>(part.unit)] += part.range.size();
  return sizes;
}

using Sizes = std::vector<std::uint64_t>;

Operation with_multiple(std::uint64_t n, UnitKind kind, std::uint64_t multiple) {
  Operation operation = pure_work(n);
  for (Implementation& one : operation.implementations)
    if (one.kind == kind) one.multiple[0] = multiple;
  return operation;
}

TEST(Adapt, WholeNumbersStayAsTheyAre) {
  const Operation operation = pure_work(100);
  const Node two = node().host("cpu", 1, 1).device("gpu", 3, 1, 0);
  const PartitionPlan plan = adapt(operation, two.machine, two.costs(operation), split_of(0, {25, 75}));
  // Devices first, the host last.
  ASSERT_EQ(plan.parts.size(), 2u);
  EXPECT_EQ(plan.parts[0], (Part{1, {0, 75}}));
  EXPECT_EQ(plan.parts[1], (Part{0, {75, 100}}));
}

TEST(Adapt, FasterDevicesComeFirst) {
  const Operation operation = pure_work(100);
  const Node three = node().host("cpu", 1, 5).device("gpu0", 1, 1, 0).device("gpu1", 4, 1, 0);
  const PartitionPlan plan =
      adapt(operation, three.machine, three.costs(operation), split_of(0, {50, 10, 40}));
  ASSERT_EQ(plan.parts.size(), 3u);
  EXPECT_EQ(plan.parts[0].unit, 2);
  EXPECT_EQ(plan.parts[1].unit, 1);
  EXPECT_EQ(plan.parts[2].unit, 0);
}

TEST(Adapt, TheRemainderGoesToTheUnitWithMostSlack) {
  // 33.3 and 66.7 with grain 10 become 30 and 60; ten more would end at 40 and at 70 / 2 = 35.
  const Operation operation = with_multiple(100, UnitKind::cpu, 10);
  const Node two = node().host("slow", 1, 1).host("fast", 1, 2);
  const PartitionPlan plan =
      adapt(operation, two.machine, two.costs(operation), split_of(0, {100 / 3.0, 200 / 3.0}));
  EXPECT_EQ(items(plan, 2), (Sizes{30, 70}));
}

TEST(Adapt, OnlyOneUnitIsOffItsMultiple) {
  const Operation operation = with_multiple(103, UnitKind::cpu, 10);
  const Node two = node().host("a", 1, 1).host("b", 1, 1);
  // 50 and 50, and 3 for either.
  const Sizes sizes =
      items(adapt(operation, two.machine, two.costs(operation), split_of(0, {51.5, 51.5})), 2);
  EXPECT_EQ(sizes, (Sizes{53, 50}));
}

TEST(Adapt, TilesOfTheModelCountToo) {
  const Operation operation = with_multiple(1000, UnitKind::cuda, 6);
  Node two = node().host("cpu", 1, 1).device("gpu", 1, 1, 0);
  two.models.times[{"gpu", "pure", "cuda", Type::fp32}].tile[0] = 4;
  const CostTable costs = two.costs(operation);
  EXPECT_EQ(detail::grain_of(operation, costs.units[1], 0, detail::Grain::preferred), 12u);
  EXPECT_EQ(detail::grain_of(operation, costs.units[1], 0, detail::Grain::least), 1u);
  const Sizes sizes = items(adapt(operation, two.machine, costs, split_of(0, {490, 510})), 2);
  EXPECT_EQ(sizes[1] % 12, 0u);
  EXPECT_EQ(sizes[0] + sizes[1], 1000u);
}

TEST(Adapt, AGrainIsNeverMoreThanTheExtent) {
  const Operation operation = with_multiple(5, UnitKind::cpu, 64);
  const Node one = node().host("cpu", 1, 1);
  EXPECT_EQ(items(adapt(operation, one.machine, one.costs(operation), split_of(0, {5})), 1), (Sizes{5}));
}

TEST(Adapt, SharesBelowTheLeastBlockAreDropped) {
  Operation operation = pure_work(100);
  operation.implementations[1].least[0] = 20;
  const Node two = node().host("cpu", 1, 1).device("gpu", 1, 1, 0);
  const CostTable costs = two.costs(operation);
  EXPECT_EQ(items(adapt(operation, two.machine, costs, split_of(0, {95, 5})), 2), (Sizes{100, 0}));
  EXPECT_EQ(items(adapt(operation, two.machine, costs, split_of(0, {80, 20})), 2), (Sizes{80, 20}));
}

TEST(Adapt, TinyExtentsWithManyUnits) {
  Node many = node();
  for (int i = 0; i < 17; ++i) many.host("cpu" + std::to_string(i), 1, 1 + i);
  for (const std::uint64_t extent : {1u, 2u, 3u}) {
    const Operation operation = pure_work(extent);
    const double each = static_cast<double>(extent) / 17;
    const PartitionPlan plan =
        adapt(operation, many.machine, many.costs(operation), split_of(0, std::vector<double>(17, each)));
    std::uint64_t covered = 0;
    for (const Part& part : plan.parts) {
      EXPECT_EQ(part.range.begin, covered);
      covered = part.range.end;
    }
    EXPECT_EQ(covered, extent);
    // One item takes 1 / (1 + i): only the fastest units are worth an item of their own.
    for (const Part& part : plan.parts) EXPECT_GE(part.unit, 17 - static_cast<int>(extent));
  }
}

TEST(Adapt, PromisesOfMoreThanTheExtentAreCutBack) {
  const Operation operation = pure_work(10);
  const Node two = node().host("slow", 1, 1).host("fast", 1, 4);
  // 10 and 8: the slow one ends last until it has 2.
  EXPECT_EQ(items(adapt(operation, two.machine, two.costs(operation), split_of(0, {10, 8})), 2),
            (Sizes{2, 8}));
}

TEST(Adapt, UnusableUnitsGetNothing) {
  const Operation operation = pure_work(10);
  const Node two = node().host("a", 1, 1).host("b", 1, 1);
  CostTable costs = two.costs(operation);
  costs.units[1].implementation = -1;
  EXPECT_EQ(items(adapt(operation, two.machine, costs, split_of(0, {5, 5})), 2), (Sizes{10, 0}));
}

}  // namespace
}  // namespace poas::test

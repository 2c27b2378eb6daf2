// Parts into blocks: how many, which shape, in which order.
#include "schedule/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "schedule/copies.hpp"
#include "support/small_nodes.hpp"

namespace poas::test {
namespace {

TaskList blocks_of_all(const Operation& operation, const Node& node, int dim) {
  const PartitionPlan all{dim, {{0, {0, operation.dims[static_cast<std::size_t>(dim)].extent}}}};
  return schedule(operation, node.machine, node.costs(operation), all);
}

TEST(Cut, PiecesAreMultiplesAndTheLastTakesTheRest) {
  EXPECT_EQ(detail::cut({0, 10}, 3, 1, 1), (std::vector<Range>{{0, 3}, {3, 6}, {6, 10}}));
  EXPECT_EQ(detail::cut({100, 127}, 3, 8, 1), (std::vector<Range>{{100, 108}, {108, 116}, {116, 127}}));
  EXPECT_EQ(detail::cut({0, 5}, 4, 8, 1), (std::vector<Range>{{0, 5}}));
}

TEST(Cut, NoPieceIsBelowTheLeast) {
  // At least 10 in steps of 4 is 12: 30 holds two.
  EXPECT_EQ(detail::cut({0, 30}, 9, 4, 10), (std::vector<Range>{{0, 12}, {12, 30}}));
}

TEST(ScatteredSeconds, LieBetweenTheEntriesByTheLogarithms) {
  Device device;
  device.line_costs[1][2] = 4e-9, device.line_costs[2][2] = 2e-9, device.line_costs[1][3] = 8e-9;
  device.line_costs[5].fill(1e-9);
  const auto seconds = [&](std::uint64_t length, std::uint64_t pitch) {
    const Operand operand{Access::read, 1, {{Follow::split, 0, pitch}, {Follow::split, 1, 10}}};
    Box box{};
    box[0] = {0, length}, box[1] = {0, 10};
    return detail::scattered_seconds(device, operand, box) / static_cast<double>(10 * length);
  };
  EXPECT_DOUBLE_EQ(seconds(1024, 16384), 4e-9);
  EXPECT_DOUBLE_EQ(seconds(2048, 16384), 2e-9);
  EXPECT_NEAR(seconds(1448, 16384), 3e-9, 1e-12) << "half way to 2048";
  EXPECT_NEAR(seconds(1024, 23170), 6e-9, 1e-12) << "half way to 32768";
  EXPECT_DOUBLE_EQ(seconds(16384, 1 << 20), 1e-9) << "further apart costs no more";
  EXPECT_NEAR(seconds(23170, 1 << 20), 0.5e-9, 1e-12);
  EXPECT_EQ(seconds(32768, 1 << 20), 0) << "long lines cost nothing more";
}

TEST(ScheduleHost, EveryCoreGetsTheSame) {
  const Operation operation = pure_work(1200);
  const Node one = node().host("cpu", 4, 1);
  const TaskList tasks = blocks_of_all(operation, one, 0);
  EXPECT_EQ(tasks.blocks.size() % 4, 0u);
  EXPECT_LE(tasks.blocks.size(), 16u);
  EXPECT_DOUBLE_EQ(simulate(operation, one.machine, {}, tasks).makespan, 300);
}

TEST(ScheduleHost, ANarrowPartIsCutAcrossToo) {
  // 2 columns for 8 cores: only with 4 rows of blocks does every core work.
  const Operation operation = gemm(64, 2, 16);
  const Node one = node().host("cpu", 8, 1);
  const TaskList tasks = blocks_of_all(operation, one, 1);
  EXPECT_DOUBLE_EQ(simulate(operation, one.machine, {}, tasks).makespan, 2.0 * 64 * 2 * 16 / 8);
}

TEST(ScheduleHost, AlignmentGivesWayBeforeCoresIdle) {
  Operation operation = gemm(16, 16, 16);
  operation.implementations[0].multiple[0] = operation.implementations[0].multiple[1] = 16;
  const Node one = node().host("cpu", 4, 1);
  EXPECT_DOUBLE_EQ(simulate(operation, one.machine, {}, blocks_of_all(operation, one, 1)).makespan,
                   2.0 * 4096 / 4);
}

TEST(ScheduleHost, OverheadKeepsTheBlocksFew) {
  const Operation operation = pure_work(1200);
  Node one = node().host("cpu", 4, 1);
  one.machine.task_overhead = 1;
  EXPECT_EQ(blocks_of_all(operation, one, 0).blocks.size(), 4u);
}

TEST(ScheduleDevice, CopyBoundWorkIsCutIntoPanels) {
  // 1 byte/s, 1e6 flop/s: the ideal is 2 x 6400 bytes one after another if both directions were shared,
  // 6400 with overlap and infinitely thin panels; 64 panels are within 2 % of that.
  const Operation operation = stream(6400);
  const Node one = node().device("gpu", 1e6, 1, 0);
  const Seconds time = simulate(operation, one.machine, {}, blocks_of_all(operation, one, 0)).makespan;
  EXPECT_GE(time, 6400);
  EXPECT_LE(time, 6400 * 1.02);
}

TEST(ScheduleDevice, LatencyKeepsTheBlocksFew) {
  // A copy costs 1000 s of latency and 64 s of moving: more blocks only add latency.
  const Operation operation = stream(64);
  const Node one = node().device("gpu", 1e6, 1, 1000);
  EXPECT_EQ(blocks_of_all(operation, one, 0).blocks.size(), 1u);
}

// All grids of powers of two, by brute force.
Seconds best_by_trying(const Operation& operation, const Node& node) {
  const CostTable costs = node.costs(operation);
  Seconds best = std::numeric_limits<Seconds>::infinity();
  for (std::uint64_t along = 1; along <= 64; along *= 2)
    for (std::uint64_t across = 1; across <= 8; across *= 2) {
      const detail::Job job{operation, costs.units[0], 1, {0, {0, operation.dims[1].extent}}};
      const TaskList tasks{
          detail::blocks_of(job, {across > 1 ? 0 : -1, along, across, detail::Grain::preferred})};
      best = std::min(best, simulate(operation, node.machine, costs, tasks).makespan);
    }
  return best;
}

TEST(ScheduleDevice, TheGridIsTheBestOfAllWithinHalfAPercent) {
  const Operation operation = gemm(4096, 4096, 4096);
  for (const double rate : {1e12, 1e13, 5e13, 4e14})
    for (const Seconds fixed : {0.0, 1e-5, 1e-4}) {
      Node one = node().device("gpu", rate, 55e9, 1e-5);
      one.speed("gpu", "cuda", rate, fixed);
      one.machine.task_overhead = 5e-6;
      const TaskList tasks = blocks_of_all(operation, one, 1);
      const Seconds found = simulate(operation, one.machine, {}, tasks).makespan,
                    best = best_by_trying(operation, one);
      EXPECT_GE(found, best * (1 - 1e-9)) << rate << " " << fixed;
      EXPECT_LE(found, best * 1.0051) << rate << " " << fixed;
    }
}

TEST(ScheduleDevice, ShellsGrow) {
  const Operation operation = gemm(400, 400, 10);
  const Node one = node().device("gpu", 1, 1, 0);
  const CostTable costs = one.costs(operation);
  const detail::Job job{operation, costs.units[0], 1, {0, {0, 400}}};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::uint64_t shell = 0;
  for (const Block& block : detail::blocks_of(job, {0, 4, 4, detail::Grain::preferred})) {
    const std::uint64_t row = block.box[0].begin / 100, column = block.box[1].begin / 100;
    EXPECT_GE(std::max(row, column), shell);
    shell = std::max(row, column);
    seen.insert({row, column});
  }
  EXPECT_EQ(seen.size(), 16u);
}

TEST(ScheduleDevice, EqualDevicesGetEqualGrids) {
  const Operation operation = gemm(2048, 4096, 2048);
  const Node two = node().device("gpu0", 1e13, 1e10, 1e-5).device("gpu1", 1e13, 1e10, 1e-5);
  const PartitionPlan halves{1, {{0, {0, 2048}}, {1, {2048, 4096}}}};
  const TaskList tasks = schedule(operation, two.machine, two.costs(operation), halves);
  std::vector<Extents> shapes[2];
  for (const Block& block : tasks.blocks) shapes[block.unit].push_back(extents_of(block.box));
  EXPECT_EQ(shapes[0], shapes[1]);
  // They take turns in the list.
  EXPECT_NE(tasks.blocks[0].unit, tasks.blocks[1].unit);
}

TEST(ScheduleDevice, AGridThatFitsTheMemoryIsPreferred) {
  // 3 x 64 MiB in all; A and thin panels of B and C fit into 80 MiB.
  const Operation operation = gemm(4096, 4096, 4096);
  Node one = node().device("gpu", 1e13, 1e10, 1e-5);
  one.machine.devices[0].memory_bytes = 80.0 * 1024 * 1024;
  const TaskList tasks = blocks_of_all(operation, one, 1);
  const auto sets =
      detail::working_sets(detail::copies_of(operation, one.machine, tasks), one.machine, tasks);
  EXPECT_LE(sets[0], 80.0 * 1024 * 1024);
  EXPECT_GT(sets[0], 64.0 * 1024 * 1024);
}

TEST(WorkingSet, IsWhatThreeNeighboursNeed) {
  // Blocks of 10 items, one byte in and one out: three at a time.
  const Operation operation = stream(50);
  const Node one = node().device("gpu", 1, 1, 0);
  TaskList tasks;
  for (std::uint64_t i = 0; i < 5; ++i) tasks.blocks.push_back(piece(operation, 0, 10 * i, 10 * i + 10, 1));
  const auto sets =
      detail::working_sets(detail::copies_of(operation, one.machine, tasks), one.machine, tasks);
  EXPECT_DOUBLE_EQ(sets[0], 3 * 20);
}

}  // namespace
}  // namespace poas::test

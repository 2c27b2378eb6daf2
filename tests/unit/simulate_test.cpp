// Closed forms of the machine model: every expected time is worked out by hand in the test.
#include <gtest/gtest.h>

#include "poas/error.hpp"
#include "support/small_nodes.hpp"

namespace poas::test {
namespace {

Timeline run(const Operation& operation, const Node& node, std::vector<Block> blocks) {
  return simulate(operation, node.machine, {}, {std::move(blocks)});
}

TEST(Simulate, HostWorkersTakeBlocksInOrder) {
  const Operation operation = pure_work(8);
  Node two = node().host("cpu", 2, 1);
  two.machine.task_overhead = 0.5;
  // Worker 0: 3; worker 1: 1, then 1, then 2.  Each costs 0.5 more.
  const Timeline line = run(operation, two,
                            {piece(operation, 0, 0, 3, 3), piece(operation, 0, 3, 4, 1),
                             piece(operation, 0, 4, 5, 1), piece(operation, 0, 5, 7, 2)});
  EXPECT_DOUBLE_EQ(line.blocks[0].end, 3.5);
  EXPECT_DOUBLE_EQ(line.blocks[2].begin, 1.5);
  EXPECT_DOUBLE_EQ(line.blocks[3].begin, 3.0);
  EXPECT_DOUBLE_EQ(line.makespan, 5.5);
  EXPECT_DOUBLE_EQ(line.unit_compute[0], 7);
}

TEST(Simulate, HostUnitsDoNotDisturbEachOther) {
  const Operation operation = pure_work(10);
  const Node two = node().host("cpu", 1, 1).host("other", 1, 1);
  const Timeline line = run(operation, two, {piece(operation, 0, 0, 4, 4), piece(operation, 1, 4, 10, 6)});
  EXPECT_DOUBLE_EQ(line.unit_finish[0], 4);
  EXPECT_DOUBLE_EQ(line.unit_finish[1], 6);
  EXPECT_DOUBLE_EQ(line.makespan, 6);
}

TEST(Simulate, OneBlockOnADeviceIsCopyComputeCopy) {
  // A 2 x 5, B 5 x 3, C 2 x 3 of 4 bytes: 40 + 60 + 24 bytes in, 24 out.
  const Operation operation = gemm(2, 3, 5);
  Node one = node().device("gpu", 1, 10, 0.25);
  one.machine.devices[0].d2h_bytes_per_s = 8;
  const Timeline line = run(operation, one, {piece(operation, 0, 0, 2, 7)});
  EXPECT_DOUBLE_EQ(line.blocks[0].input, 3 * 0.25 + 124 / 10.0);
  EXPECT_DOUBLE_EQ(line.blocks[0].begin, line.blocks[0].input);
  EXPECT_DOUBLE_EQ(line.blocks[0].end, 13.15 + 7);
  EXPECT_DOUBLE_EQ(line.blocks[0].output, 13.15 + 7 + 0.25 + 24 / 8.0);
  EXPECT_DOUBLE_EQ(line.device_in[0], 124);
  EXPECT_DOUBLE_EQ(line.device_out[0], 24);
}

TEST(Simulate, WriteOnlyOperandsAreNotCopiedIn) {
  const Operation operation = stream(10);
  const Node one = node().device("gpu", 1, 1, 0);
  const Timeline line = run(operation, one, {piece(operation, 0, 0, 10, 1)});
  EXPECT_DOUBLE_EQ(line.device_in[0], 10);
  EXPECT_DOUBLE_EQ(line.device_out[0], 10);
  EXPECT_DOUBLE_EQ(line.makespan, 10 + 1 + 10);
}

TEST(Simulate, CopyBoundPanelsOverlapEverythingButTheEnds) {
  // Ten panels of 10 bytes in, 10 bytes out, 1 s of work; the link moves 1 byte/s each way, latency 2 s.
  const Operation operation = stream(100);
  const Node one = node().device("gpu", 1, 1, 2);
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < 10; ++i) blocks.push_back(piece(operation, 0, 10 * i, 10 * i + 10, 1));
  const Timeline line = run(operation, one, blocks);
  EXPECT_DOUBLE_EQ(line.blocks[9].input, 10 * (2 + 10));
  EXPECT_DOUBLE_EQ(line.makespan, 120 + 1 + 12);
}

TEST(Simulate, ComputeBoundPanelsWaitForTheWorker) {
  const Operation operation = stream(100);
  const Node one = node().device("gpu", 1, 10, 0);
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < 10; ++i) blocks.push_back(piece(operation, 0, 10 * i, 10 * i + 10, 5));
  EXPECT_DOUBLE_EQ(run(operation, one, blocks).makespan, 1 + 50 + 1);
}

TEST(Simulate, AnOperandPartIsCopiedToADeviceOnce) {
  // Two panels along m share B (5 x 3, 60 bytes): A 20 + B 60 + C 12, then A 20 + C 12.
  const Operation operation = gemm(2, 3, 5);
  const Node two = node().device("gpu0", 1, 1, 0).device("gpu1", 1, 1, 0);
  const Timeline together =
      run(operation, two, {piece(operation, 0, 0, 1, 1), piece(operation, 0, 1, 2, 1)});
  EXPECT_DOUBLE_EQ(together.device_in[0], 124);
  EXPECT_DOUBLE_EQ(together.blocks[0].input, 92);
  EXPECT_DOUBLE_EQ(together.blocks[1].input, 124);
  const Timeline apart = run(operation, two, {piece(operation, 0, 0, 1, 1), piece(operation, 1, 1, 2, 1)});
  EXPECT_DOUBLE_EQ(apart.device_in[0] + apart.device_in[1], 124 + 60);
}

TEST(Simulate, ABlockWithNothingNewStartsWhenItsOldPartsAreThere) {
  // The second block reads what the first brought (replicated operand only) and waits for the worker.
  Operation operation = stream(4);
  operation.operands[0].axes[0] = {Follow::replicated, -1, 100};
  const Node one = node().device("gpu", 1, 10, 0);
  const Timeline line = run(operation, one, {piece(operation, 0, 0, 2, 3), piece(operation, 0, 2, 4, 3)});
  EXPECT_DOUBLE_EQ(line.device_in[0], 100);
  EXPECT_DOUBLE_EQ(line.blocks[1].input, 10);
  EXPECT_DOUBLE_EQ(line.blocks[1].end, 10 + 6);
}

TEST(Simulate, HalosAreCopiedAndClipped) {
  Operation operation = stream(10);
  operation.operands[0].axes[0] = {Follow::halo, 0, 10, 1, 2};
  const Node one = node().device("gpu", 1, 1, 0);
  // [0, 5) needs [0, 7); [5, 10) needs [4, 10).
  const Timeline line = run(operation, one, {piece(operation, 0, 0, 5, 1), piece(operation, 0, 5, 10, 1)});
  EXPECT_DOUBLE_EQ(line.device_in[0], 7 + 6);
}

TEST(Simulate, UnitsOfOneDeviceTakeTurns) {
  const Operation operation = pure_work(10);
  Node one = node().device("gpu", 1, 1, 0);
  one.machine.units.push_back({"gpu.tensor", UnitKind::tensor, 0, 1});
  const Timeline line = run(operation, one, {piece(operation, 0, 0, 4, 4), piece(operation, 1, 4, 10, 6)});
  EXPECT_DOUBLE_EQ(line.unit_finish[0], 4);
  EXPECT_DOUBLE_EQ(line.unit_finish[1], 10);
}

TEST(Simulate, TwoDevicesShareTheHostLinkEvenly) {
  // Both want 10 bytes/s of 10: 5 each until 50 bytes are over at 10 s, then 50 bytes at 10 bytes/s.
  const Operation operation = stream(150);
  Node two = node().device("gpu0", 1, 10, 0).device("gpu1", 1, 10, 0);
  two.machine.host_link_bytes_per_s = 10;
  const Timeline line =
      run(operation, two, {piece(operation, 0, 0, 100, 1000), piece(operation, 1, 100, 150, 1000)});
  EXPECT_DOUBLE_EQ(line.blocks[1].input, 10);
  EXPECT_DOUBLE_EQ(line.blocks[0].input, 15);
}

TEST(Simulate, ANarrowLinkLeavesTheRestToTheOthers) {
  // Links of 2 and 10 bytes/s under a limit of 8: 2 and 6.
  const Operation operation = stream(80);
  Node two = node().device("gpu0", 1, 2, 0).device("gpu1", 1, 10, 0);
  two.machine.host_link_bytes_per_s = 8;
  const Timeline line =
      run(operation, two, {piece(operation, 0, 0, 20, 1000), piece(operation, 1, 20, 80, 1000)});
  EXPECT_DOUBLE_EQ(line.blocks[0].input, 10);
  EXPECT_DOUBLE_EQ(line.blocks[1].input, 10);
}

TEST(Simulate, BothDirectionsCountForTheHostLink) {
  // After 1 s (10 bytes in) and no work, 10 bytes go out while 30 come in at 5 bytes/s each until 3 s,
  // then 20 are left for 10 bytes/s.
  const Operation operation = stream(40);
  Node one = node().device("gpu", 1, 10, 0);
  one.machine.host_link_bytes_per_s = 10;
  const Timeline line =
      run(operation, one, {piece(operation, 0, 0, 10, 1e-12), piece(operation, 0, 10, 40, 1)});
  EXPECT_NEAR(line.blocks[0].output, 3, 1e-9);
  EXPECT_NEAR(line.blocks[1].input, 5, 1e-9);
}

TEST(Simulate, MissingSecondsComeFromTheCosts) {
  const Operation operation = pure_work(10);
  const Node one = node().host("cpu", 1, 2);
  EXPECT_DOUBLE_EQ(
      simulate(operation, one.machine, one.costs(operation), {{piece(operation, 0, 0, 10, 0)}}).makespan,
      5);
}

TEST(Simulate, UnknownUnitsAreRefused) {
  const Operation operation = pure_work(10);
  const Node one = node().host("cpu", 1, 1);
  EXPECT_THROW(run(operation, one, {piece(operation, 1, 0, 10, 1)}), Error);
  EXPECT_THROW(run(operation, one, {piece(operation, -1, 0, 10, 1)}), Error);
}

TEST(Simulate, NothingTakesNoTime) {
  const Operation operation = pure_work(10);
  EXPECT_EQ(run(operation, node().host("cpu", 1, 1), {}).makespan, 0);
}

TEST(Simulate, CopiesInShortLinesTakeLonger) {
  // A quarter of 8192 rows: lines of 8192 bytes, 32768 apart; A has 2, B is whole, C has 3 of them.  A byte costs a
  // second more in lines of 8192 bytes, at that pitch.
  const Operation operation = gemm(8192, 3, 2);
  Node one = node().device("gpu", 1, 1e12, 0);
  const std::vector<Block> quarter{piece(operation, 0, 0, 2048, 1)};
  const Seconds without = run(operation, one, quarter).makespan;
  one.machine.devices[0].line_costs[4][3] = 1;
  // C is read and written.
  EXPECT_NEAR(run(operation, one, quarter).makespan, without + 8192 * (2 + 3 + 3), 1e-6);
}

}  // namespace
}  // namespace poas::test

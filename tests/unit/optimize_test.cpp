// Shares of whole operations, against numbers worked out by hand.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "poas/error.hpp"
#include "poas/plan.hpp"

namespace poas {
namespace {

constexpr std::uint64_t m = 500, n = 1000, k = 200;
constexpr int cut_n = 1;

// C(m,n) += A(m,k) B(k,n) on fp32.  One item of n: 2 m k = 2e5 flop; 4 k = 800 bytes of B, 4 m = 2000 of C
// each way; A has 4 m k = 4e5 bytes, which every device needs.
Operation product() {
  Operation operation;
  operation.name = "product";
  operation.dims = {{"m", m, true}, {"n", n, true}, {"k", k, false}};
  operation.work_per_point = 2;
  operation.operands = {
      {Access::read, 4, {{Follow::split, 0, m, 0, 0}, {Follow::reduced, 2, k, 0, 0}}},
      {Access::read, 4, {{Follow::reduced, 2, k, 0, 0}, {Follow::split, 1, n, 0, 0}}},
      {Access::read_write, 4, {{Follow::split, 0, m, 0, 0}, {Follow::split, 1, n, 0, 0}}}};
  Implementation one;
  one.multiple.fill(1);
  one.least.fill(1);
  operation.implementations = {one};
  return operation;
}

// Two ways of computing in host memory and one device with units "gpu" and "gpu.fast".
Machine node() {
  Machine machine;
  machine.name = "node";
  machine.devices = {{"gpu0", 1e9, 1e9, 2e9, 1e-3, 0}};
  machine.units = {{"cpu", UnitKind::cpu, -1, 4},
                   {"other", UnitKind::opencl, -1, 1},
                   {"gpu", UnitKind::cuda, 0, 1},
                   {"gpu.fast", UnitKind::tensor, 0, 1}};
  return machine;
}

// Seconds per item of n on one worker; negative: not usable.
CostTable costs(std::initializer_list<double> seconds_per_item) {
  CostTable table;
  for (const double seconds : seconds_per_item) {
    UnitCost cost;
    cost.implementation = seconds < 0 ? -1 : 0;
    cost.model.seconds_per_flop = seconds / (2.0 * m * k);
    table.units.push_back(cost);
  }
  return table;
}

Request solved_by(const char* solver) {
  Request request;
  request.solver = solver;
  request.solver_time_limit = 1;
  return request;
}

double total(const Split& split) { return std::accumulate(split.share.begin(), split.share.end(), 0.0); }

class Optimize : public ::testing::TestWithParam<const char*> {
 protected:
  Split run(const CostTable& table, const Machine& machine = node(), const State& state = {}) const {
    return optimize(product(), machine, table, state, solved_by(GetParam()), cut_n);
  }
};
INSTANTIATE_TEST_SUITE_P(Solvers, Optimize, ::testing::Values("glpk", "enumerate"));

TEST_P(Optimize, SharesFollowTheRatesOfAllWorkers) {
  // 4 workers of 4e-3 s an item against one of 3e-3: rates 1000 and 1000/3.
  const Split split = run(costs({4e-3, 3e-3, -1, -1}));
  EXPECT_EQ(split.status, SolveStatus::optimal);
  EXPECT_EQ(split.solver, GetParam());
  EXPECT_EQ(split.dim, cut_n);
  EXPECT_NEAR(split.share[0], 750, 0.01);
  EXPECT_NEAR(split.share[1], 250, 0.01);
  EXPECT_EQ(split.share[2], 0);
  EXPECT_NEAR(split.makespan, 0.75, 1e-5);
  EXPECT_NEAR(split.bound, 0.75, 1e-5);
  EXPECT_NEAR(split.gap, 0, 1e-5);
}

TEST_P(Optimize, OverheadAndFixedCostsCountOnceAndNotInTheBound) {
  CostTable table = costs({4e-3, 1e-3, -1, -1});
  table.units[0].model.fixed = 0.05;
  Machine machine = node();
  machine.task_overhead = 0.01;
  const Split split = run(table, machine);
  // 0.06 + 1e-3 w = 0.01 + 1e-3 (1000 - w)
  // To the gap that the solver is asked for, 1e-4.
  EXPECT_NEAR(split.share[0], 475, 0.535e-4 / 1e-3);
  EXPECT_NEAR(split.makespan, 0.535, 0.535e-4);
  EXPECT_NEAR(split.bound, 0.5, 1e-5);
  EXPECT_NEAR(split.gap, 0.035 / 0.535, 1e-4);
}

TEST_P(Optimize, ADeviceWaitsForItsInputAndBringsTheLastPanelHome) {
  // lead 1e-3 + 4e5 / 1e9, compute 5e-3 an item, tail 1e-3 + an eighth of 2000 / 2e9 an item.
  const Split split = run(costs({-1, -1, 5e-3, -1}));
  EXPECT_NEAR(split.share[2], 1000, 1e-6);
  EXPECT_NEAR(split.makespan, 1.4e-3 + 5 + 1e-3 + 1.25e-4, 1e-5);
  EXPECT_NEAR(split.bound, 5, 1e-5);
}

TEST_P(Optimize, AFastDeviceIsLimitedByItsInput) {
  // in: 4e5 / 1e9 + 2800 / 1e9 an item, then the tail.
  const Split split = run(costs({-1, -1, 1e-9, -1}));
  EXPECT_NEAR(split.makespan, 4e-4 + 2.8e-3 + 1e-3 + 1.25e-4, 1e-8);
  EXPECT_NEAR(split.bound, 2.8e-3, 1e-8);
}

TEST_P(Optimize, TheHostLinkCountsBothDirections) {
  Machine machine = node();
  machine.host_link_bytes_per_s = 1e8;
  // 4e5 + 4800 an item, at 1e8.
  const Split split = run(costs({-1, -1, 1e-9, -1}), machine);
  EXPECT_NEAR(split.makespan, 4e-3 + 48e-3, 1e-7);
  EXPECT_NEAR(split.bound, 48e-3, 1e-7);
}

TEST_P(Optimize, ADeviceTakesNoMoreThanItsMemoryHolds) {
  Machine machine = node();
  machine.devices[0].memory_bytes = 4e5 + 2800 * 100.0;
  const Split split = run(costs({4, -1, 1e-3, -1}), machine);
  EXPECT_NEAR(split.share[2], 100, 1e-5);
  EXPECT_NEAR(split.share[0], 900, 1e-5);
  machine.devices[0].memory_bytes = 3e5;
  EXPECT_EQ(run(costs({4, -1, 1e-3, -1}), machine).share[2], 0);
}

TEST_P(Optimize, NothingFitsNowhere) {
  Machine machine = node();
  machine.devices[0].memory_bytes = 3e5;
  const Split split = run(costs({-1, -1, 1e-3, 1e-3}), machine);
  EXPECT_EQ(split.status, SolveStatus::infeasible);
  EXPECT_EQ(total(split), 0);
  const Split nobody = run(costs({-1, -1, -1, -1}));
  EXPECT_EQ(nobody.status, SolveStatus::infeasible);
  EXPECT_EQ(nobody.share, std::vector<double>(4, 0));
}

TEST_P(Optimize, ABusyUnitGetsLess) {
  // 0.5 + 1e-3 w = 1e-3 (1000 - w)
  const Split split = run(costs({4e-3, 1e-3, -1, -1}), node(), {{0.5, 0, 0, 0}});
  EXPECT_NEAR(split.share[0], 250, 0.01);
  EXPECT_NEAR(split.makespan, 0.75, 1e-5);
}

TEST_P(Optimize, UnitsOfOneDeviceWaitForItTogether) {
  Request request = solved_by(GetParam());
  request.split = SplitMode::always;
  request.units = {};
  const Split split =
      optimize(product(), node(), costs({-1, -1, 5e-3, 5e-3}), {{0, 0, 2.0, 2.5}}, request, cut_n);
  // Both wait 2 s, the second 0.5 s more; then as one.
  EXPECT_NEAR(split.makespan, 2.5 + 1.4e-3 + 5 + 1e-3 + 1.25e-4, 1e-5);
  EXPECT_GE(split.share[2], 1 - 1e-6);
  EXPECT_GE(split.share[3], 1 - 1e-6);
}

TEST_P(Optimize, TheSlowCoresOfADeviceAreLeftOut) {
  const Split split = run(costs({-1, -1, 5e-3, 1e-3}));
  EXPECT_EQ(split.share[2], 0);
  EXPECT_NEAR(split.share[3], 1000, 1e-6);
}

TEST_P(Optimize, AlwaysGivesEveryUnitItsLeastBlock) {
  Operation operation = product();
  operation.implementations[0].least[1] = 10;
  operation.implementations[0].multiple[1] = 16;
  Request request = solved_by(GetParam());
  request.split = SplitMode::always;
  const Split split = optimize(operation, node(), costs({4e-3, 100, -1, -1}), {}, request, cut_n);
  EXPECT_NEAR(split.share[1], 16, 1e-6);
  EXPECT_NEAR(total(split), 1000, 1e-6);
}

TEST_P(Optimize, AlwaysOnTooFewItemsDropsTheSlowest) {
  Operation operation = product();
  operation.implementations[0].least[1] = 600;
  Request request = solved_by(GetParam());
  request.split = SplitMode::always;
  const Split split = optimize(operation, node(), costs({4e-3, 100, -1, -1}), {}, request, cut_n);
  EXPECT_NEAR(split.share[0], 1000, 1e-6);
  EXPECT_EQ(split.share[1], 0);
}

TEST_P(Optimize, BadNumbersAreRefusedBeforeASolverSeesThem) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const CostTable good = costs({4e-3, -1, 1e-3, -1});
  for (const double value : {nan, std::numeric_limits<double>::infinity(), -1.0, 1e300}) {
    CostTable table = good;
    table.units[0].model.fixed = value;
    EXPECT_THROW(run(table), Error) << value;
    table = good;
    table.units[2].model.seconds_per_flop = value;
    EXPECT_THROW(run(table), Error) << value;
    Machine machine = node();
    machine.devices[0].latency = value;
    EXPECT_THROW(run(good, machine), Error) << value;
    EXPECT_THROW(run(good, node(), {{value, 0, 0, 0}}), Error) << value;
  }
  Machine machine = node();
  machine.devices[0].h2d_bytes_per_s = 0;
  EXPECT_THROW(run(good, machine), Error);
}

TEST_P(Optimize, RefusesWhatItCannotCutOrDoesNotKnow) {
  EXPECT_THROW(optimize(product(), node(), costs({1, 1, 1, 1}), {}, solved_by(GetParam()), 2), Error);
  EXPECT_THROW(optimize(product(), node(), costs({1, 1}), {}, solved_by(GetParam()), cut_n), Error);
  EXPECT_THROW(optimize(product(), node(), costs({1, 1, 1, 1}), {}, solved_by("simplex"), cut_n), Error);
}

}  // namespace
}  // namespace poas

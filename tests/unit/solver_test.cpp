// Solvers on divisions whose optimum is known in closed form or by a fine grid, and on bad numbers.
#include "optimize/solver/solver.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "poas/error.hpp"

namespace poas::detail {
namespace {

using Solver = std::function<Solution(const DivisionProblem&)>;

const SolverLimits patient{1.0, 1e-9};

struct Named {
  const char* name;
  Solution (*solve)(const DivisionProblem&, const SolverLimits&);
};

class EverySolver : public ::testing::TestWithParam<Named> {
 protected:
  Solution solve(const DivisionProblem& problem) const { return GetParam().solve(problem, patient); }
};
INSTANTIATE_TEST_SUITE_P(Solvers, EverySolver,
                         ::testing::Values(Named{"glpk", solve_glpk}, Named{"enumerate", solve_enumerate}),
                         [](const auto& solver) { return solver.param.name; });

UnitTerms host_unit(Seconds fixed, Seconds slope) { return {-1, fixed, slope, slope, 1, false}; }
UnitTerms device_unit(int device, Seconds fixed, Seconds slope) {
  return {device, fixed, slope, slope, 1, false};
}
DeviceTerms free_device(double most) {
  DeviceTerms device;
  device.most = most;
  return device;
}

void expect_sums_up(const DivisionProblem& problem, const Solution& solution) {
  double sum = 0;
  for (const double items : solution.items) sum += items;
  EXPECT_NEAR(sum, problem.items, 1e-9 * problem.items);
}

TEST_P(EverySolver, EqualisesTwoUnits) {
  // 2 + 1 w = 1 + 3 (100 - w)  =>  w = 299/4
  const DivisionProblem problem{100, {host_unit(2, 1), host_unit(1, 3)}, {}};
  const Solution solution = solve(problem);
  ASSERT_EQ(solution.status, SolveStatus::optimal);
  EXPECT_NEAR(solution.items[0], 74.75, 1e-6);
  EXPECT_NEAR(solution.items[1], 25.25, 1e-6);
  EXPECT_NEAR(solution.makespan, 76.75, 1e-6);
}

TEST_P(EverySolver, LeavesOutAUnitWithALargeFixedCost) {
  const DivisionProblem problem{100, {host_unit(0, 1), host_unit(100, 0.5)}, {}};
  const Solution solution = solve(problem);
  ASSERT_EQ(solution.status, SolveStatus::optimal);
  EXPECT_NEAR(solution.items[0], 100, 1e-6);
  EXPECT_EQ(solution.items[1], 0);
  EXPECT_NEAR(solution.makespan, 100, 1e-6);
}

TEST_P(EverySolver, EqualisesThreeUnitsOneBehindLeadAndTail) {
  // Host: T = w0 and T = 2 w1; device: T = 1 + 3 + 2 + 4 w2 (lead, own, tail), with w0 + w1 + w2 = 70:
  // T + T/2 + (T - 6)/4 = 70  =>  T = 71.5 / 1.75
  DivisionProblem problem{70, {host_unit(0, 1), host_unit(0, 2), device_unit(0, 3, 4)}, {free_device(70)}};
  problem.devices[0].lead = 1;
  problem.devices[0].tail.fixed = 2;
  const Solution solution = solve(problem);
  const double time = 71.5 / 1.75;
  ASSERT_EQ(solution.status, SolveStatus::optimal);
  EXPECT_NEAR(solution.makespan, time, 1e-6);
  EXPECT_NEAR(solution.items[0], time, 1e-5);
  EXPECT_NEAR(solution.items[1], time / 2, 1e-5);
  EXPECT_NEAR(solution.items[2], (time - 6) / 4, 1e-5);
}

TEST_P(EverySolver, LinkLimitsADevice) {
  // The device computes in no time, its link needs 5 + w; the host unit 2 w: 5 + w = 2 (100 - w).
  DivisionProblem problem{100, {host_unit(0, 2), device_unit(0, 0, 0)}, {free_device(100)}};
  problem.devices[0].in = {5, 1};
  const Solution solution = solve(problem);
  EXPECT_NEAR(solution.makespan, 70, 1e-6);
  EXPECT_NEAR(solution.items[1], 65, 1e-5);
  DivisionProblem outwards = problem;
  std::swap(outwards.devices[0].in, outwards.devices[0].out);
  EXPECT_NEAR(solve(outwards).makespan, 70, 1e-6);
}

TEST_P(EverySolver, TailLengthensComputeAndInput) {
  // compute (1 + 0.5) w + 2, input (2 + 0.5) w + 2: the input decides, 2.5 * 10 + 2.
  DivisionProblem problem{10, {device_unit(0, 0, 1)}, {free_device(10)}};
  problem.devices[0].in = {0, 2};
  problem.devices[0].tail = {2, 0.5};
  EXPECT_NEAR(solve(problem).makespan, 27, 1e-6);
}

TEST_P(EverySolver, HostLinkIsSharedByTheDevices) {
  // Two devices that compute in no time share a link of 1 s per item, and a host unit of 3 s per item:
  // T = w_devices = 3 w_host  =>  T = 75 for 100 items.
  DivisionProblem problem{100,
                          {device_unit(0, 0, 0), device_unit(1, 0, 0), host_unit(0, 3)},
                          {free_device(100), free_device(100)}};
  problem.devices[0].host = problem.devices[1].host = {0, 1};
  const Solution solution = solve(problem);
  EXPECT_NEAR(solution.makespan, 75, 1e-6);
  EXPECT_NEAR(solution.items[2], 25, 1e-5);
}

TEST_P(EverySolver, FixedPartOfTheHostLinkMakesOneDeviceBetterThanTwo) {
  // Each device used costs 40 s on the shared link; two of them alone would take 80 s of it.
  DivisionProblem problem{100, {device_unit(0, 0, 0.6), device_unit(1, 0, 0.6)}, {free_device(100), free_device(100)}};
  problem.devices[0].host = problem.devices[1].host = {40, 0.1};
  const Solution solution = solve(problem);
  EXPECT_NEAR(solution.makespan, 60, 1e-6);
  EXPECT_EQ(std::min(solution.items[0], solution.items[1]), 0);
}

TEST_P(EverySolver, UnitsOfOneDeviceTakeTurns) {
  // Alone, each of the two would take 100 and 120 s; together they gain nothing.
  const DivisionProblem problem{100, {device_unit(0, 0, 1), device_unit(0, 0, 1.2)}, {free_device(100)}};
  const Solution solution = solve(problem);
  EXPECT_NEAR(solution.makespan, 100, 1e-6);
  EXPECT_NEAR(solution.items[0], 100, 1e-6);
}

TEST_P(EverySolver, MemoryBoundsADevice) {
  const DivisionProblem problem{100, {host_unit(0, 10), device_unit(0, 0, 1)}, {free_device(40)}};
  const Solution solution = solve(problem);
  EXPECT_NEAR(solution.items[1], 40, 1e-6);
  EXPECT_NEAR(solution.makespan, 600, 1e-5);
}

TEST_P(EverySolver, MemoryIsSharedByTheUnitsOfADevice) {
  DivisionProblem problem{100, {device_unit(0, 0, 1), device_unit(0, 0, 1), host_unit(0, 1)}, {free_device(30)}};
  problem.units[0].forced = problem.units[1].forced = true;
  const Solution solution = solve(problem);
  ASSERT_TRUE(solution.found());
  EXPECT_LE(solution.items[0] + solution.items[1], 30 * (1 + 1e-9));
  EXPECT_NEAR(solution.makespan, 70, 1e-6);
}

TEST_P(EverySolver, TooLittleMemoryIsInfeasible) {
  const DivisionProblem problem{100, {device_unit(0, 0, 1)}, {free_device(40)}};
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.status, SolveStatus::infeasible);
  EXPECT_FALSE(solution.found());
}

TEST_P(EverySolver, SeveralMemoriesTogetherHoldIt) {
  const DivisionProblem problem{100, {device_unit(0, 0, 1), device_unit(1, 0, 1)}, {free_device(60), free_device(50)}};
  const Solution solution = solve(problem);
  ASSERT_TRUE(solution.found());
  EXPECT_NEAR(solution.makespan, 50, 1e-6);
}

TEST_P(EverySolver, LeastShareIsAllOrNothing) {
  // Without the least share the second unit would take 1/11 of the items; 20 of them would take 200 s.
  DivisionProblem problem{100, {host_unit(0, 1), host_unit(0, 10)}, {}};
  problem.units[1].least = 20;
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.items[1], 0);
  EXPECT_NEAR(solution.makespan, 100, 1e-6);
  problem.units[1].forced = true;
  const Solution forced = solve(problem);
  EXPECT_NEAR(forced.items[1], 20, 1e-6);
  EXPECT_NEAR(forced.makespan, 200, 1e-6);
}

TEST_P(EverySolver, ForcedBeyondTheItemsIsInfeasible) {
  DivisionProblem problem{1, {host_unit(0, 1), host_unit(0, 1)}, {}};
  problem.units[0].forced = problem.units[1].forced = true;
  EXPECT_EQ(solve(problem).status, SolveStatus::infeasible);
  relax_forcing(problem);
  EXPECT_NE(problem.units[0].forced, problem.units[1].forced);
  EXPECT_NEAR(solve(problem).makespan, 1, 1e-9);
}

TEST_P(EverySolver, OneItemGoesToTheFastestOfSeventeenUnits) {
  DivisionProblem problem{1, {}, {}};
  for (int u = 0; u < 17; ++u) problem.units.push_back(host_unit(1, 20 - u));
  EXPECT_NEAR(solve(problem).makespan, 5, 1e-6);
}

TEST_P(EverySolver, ZeroCostsAreSolved) {
  const DivisionProblem problem{10, {host_unit(0, 0), device_unit(0, 0, 0)}, {free_device(10)}};
  const Solution solution = solve(problem);
  ASSERT_TRUE(solution.found());
  EXPECT_EQ(solution.makespan, 0);
  expect_sums_up(problem, solution);
}

// Best makespan over a grid of shares of three units, the last one the rest.
Seconds best_on_grid(const DivisionProblem& problem, int steps) {
  Seconds best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= steps; ++i)
    for (int j = 0; i + j <= steps; ++j) {
      const std::vector<double> items{problem.items * i / steps, problem.items * j / steps,
                                      problem.items * (steps - i - j) / steps};
      std::vector<double> on_device(problem.devices.size(), 0);
      bool allowed = true;
      for (std::size_t u = 0; u < items.size(); ++u) {
        allowed = allowed && (items[u] == 0 ? !problem.units[u].forced : items[u] >= problem.units[u].least);
        if (problem.units[u].device >= 0) on_device[static_cast<std::size_t>(problem.units[u].device)] += items[u];
      }
      for (std::size_t d = 0; d < on_device.size(); ++d) allowed = allowed && on_device[d] <= problem.devices[d].most;
      if (allowed) best = std::min(best, makespan_of(problem, items));
    }
  return best;
}

DivisionProblem random_grid_problem(std::mt19937& random) {
  std::uniform_real_distribution<double> real(0, 1);
  std::uniform_int_distribution<int> place(-1, 1);
  DivisionProblem problem{300, {}, {free_device(300), free_device(300)}};
  for (int u = 0; u < 3; ++u) {
    UnitTerms unit = {place(random), 40 * real(random), 0.1 + real(random), 0, 1, real(random) < 0.2};
    if (real(random) < 0.3) unit.least = std::floor(60 * real(random)) + 1;
    problem.units.push_back(unit);
  }
  for (DeviceTerms& device : problem.devices) {
    if (real(random) < 0.3) device.most = std::floor(300 * real(random));
    device.lead = 10 * real(random);
    device.tail = {5 * real(random), 0.05 * real(random)};
    device.in = {20 * real(random), real(random)};
    device.out = {0, real(random)};
    if (real(random) < 0.5) device.host = {20 * real(random), 0.5 * real(random)};
  }
  problem.units[2].device = -1;  // so that there always is a division
  relax_forcing(problem);
  return problem;
}

TEST_P(EverySolver, AgreesWithAFineGrid) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const DivisionProblem problem = random_grid_problem(random);
    const Solution solution = solve(problem);
    ASSERT_TRUE(solution.found()) << "case " << i;
    expect_sums_up(problem, solution);
    // The grid moves by half an item at most 1.6 s an item for each of two units.
    const Seconds grid = best_on_grid(problem, 300);
    EXPECT_LE(solution.makespan, grid * (1 + 1e-6)) << "case " << i;
    EXPECT_GE(solution.makespan, grid - 4) << "case " << i;
  }
}

// --- numbers that no solver should see ------------------------------------------------------------

DivisionProblem valid_problem() {
  DivisionProblem problem{100, {host_unit(1, 1), device_unit(0, 1, 0.5)}, {free_device(80)}};
  problem.devices[0].in = problem.devices[0].out = problem.devices[0].host = problem.devices[0].tail = {1, 0.1};
  problem.devices[0].lead = 1;
  return problem;
}

TEST_P(EverySolver, RefusesBadNumbersInEveryField) {
  const std::vector<std::pair<const char*, std::function<double&(DivisionProblem&)>>> fields = {
      {"items", [](DivisionProblem& p) -> double& { return p.items; }},
      {"units[1].fixed", [](DivisionProblem& p) -> double& { return p.units[1].fixed; }},
      {"units[1].slope", [](DivisionProblem& p) -> double& { return p.units[1].slope; }},
      {"units[1].least_slope", [](DivisionProblem& p) -> double& { return p.units[1].least_slope; }},
      {"units[1].least", [](DivisionProblem& p) -> double& { return p.units[1].least; }},
      {"devices[0].lead", [](DivisionProblem& p) -> double& { return p.devices[0].lead; }},
      {"devices[0].tail.fixed", [](DivisionProblem& p) -> double& { return p.devices[0].tail.fixed; }},
      {"devices[0].tail.slope", [](DivisionProblem& p) -> double& { return p.devices[0].tail.slope; }},
      {"devices[0].in.fixed", [](DivisionProblem& p) -> double& { return p.devices[0].in.fixed; }},
      {"devices[0].in.slope", [](DivisionProblem& p) -> double& { return p.devices[0].in.slope; }},
      {"devices[0].out.fixed", [](DivisionProblem& p) -> double& { return p.devices[0].out.fixed; }},
      {"devices[0].out.slope", [](DivisionProblem& p) -> double& { return p.devices[0].out.slope; }},
      {"devices[0].host.fixed", [](DivisionProblem& p) -> double& { return p.devices[0].host.fixed; }},
      {"devices[0].host.slope", [](DivisionProblem& p) -> double& { return p.devices[0].host.slope; }},
      {"devices[0].most", [](DivisionProblem& p) -> double& { return p.devices[0].most; }}};
  const double infinite = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(solve(valid_problem()).found());
  for (const auto& [name, field] : fields)
    for (const double value : {std::nan(""), infinite, -infinite, 1e300, -1.0}) {
      DivisionProblem problem = valid_problem();
      field(problem) = value;
      try {
        solve(problem);
        ADD_FAILURE() << name << " = " << value << " was accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::invalid);
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
}

TEST_P(EverySolver, RefusesNothingToDivideAndUnknownDevices) {
  DivisionProblem empty = valid_problem();
  empty.items = 0;
  EXPECT_THROW(solve(empty), Error);
  DivisionProblem nobody = valid_problem();
  nobody.units.clear();
  EXPECT_THROW(solve(nobody), Error);
  for (const int device : {-2, 1}) {
    DivisionProblem elsewhere = valid_problem();
    elsewhere.units[1].device = device;
    EXPECT_THROW(solve(elsewhere), Error);
  }
}

TEST(Glpk, RefusesBadLimits) {
  for (const SolverLimits limits : {SolverLimits{std::nan(""), 1e-8}, SolverLimits{-1, 1e-8},
                                    SolverLimits{1, std::nan("")}, SolverLimits{1, -1}, SolverLimits{1, 1}})
    EXPECT_THROW(solve_glpk(valid_problem(), limits), Error);
}

TEST(Solve, RefusesAnUnknownName) { EXPECT_THROW(solve("simplex", valid_problem(), patient), Error); }

// --- size of a large node -----------------------------------------------------------------------------

DivisionProblem large_node(Seconds host_fixed) {
  DivisionProblem problem{16384, {host_unit(1e-5, 3e-5)}, {}};
  for (int d = 0; d < 8; ++d) {
    DeviceTerms device = free_device(16384);
    device.lead = 2e-3;
    device.tail = {1e-5, 1e-7};
    device.in = {5e-3, 2e-6 * (1 + 0.1 * d)};
    device.out = {0, 1e-6};
    device.host = {host_fixed, 4e-7};
    problem.devices.push_back(device);
    problem.units.push_back(device_unit(d, 2e-5, 1e-5 * (1 + 0.05 * d)));
    problem.units.push_back(device_unit(d, 2e-5, 2e-6 * (1 + 0.07 * d)));
  }
  return problem;
}

// The second is hard: the fixed parts of eight similar devices fill most of the shared link.
TEST(Solve, SeventeenUnitsAgreeAndTellTheirTime) {
  for (const Seconds host_fixed : {1e-4, 1e-3}) {
    const DivisionProblem problem = large_node(host_fixed);
    const Solution glpk = solve_glpk(problem, patient), enumerated = solve_enumerate(problem, patient);
    ASSERT_EQ(glpk.status, SolveStatus::optimal);
    ASSERT_EQ(enumerated.status, SolveStatus::optimal);
    EXPECT_NEAR(glpk.makespan, enumerated.makespan, 1e-6 * enumerated.makespan);
    for (const Named& solver : {Named{"glpk", solve_glpk}, Named{"enumerate", solve_enumerate}}) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 50; ++i) solver.solve(problem, {1.0, 1e-5});
      const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
      std::printf("17 units, 8 devices, %g s fixed on the host's link: %s %.0f us per solve\n", host_fixed,
                  solver.name, passed.count() / 50);
    }
  }
}

}  // namespace
}  // namespace poas::detail

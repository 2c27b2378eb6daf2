// Laws of every division, on generated problems.
#include "optimize/solver/solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <unistd.h>

namespace poas::detail {
namespace {

const SolverLimits patient{10.0, 1e-9};
constexpr double agreement = 1e-6;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(double probability) { return real(0, 1) < probability; }
  // Evenly spread in the exponent.
  double magnitude(double low, double high) { return std::exp(real(std::log(low), std::log(high))); }
  template <typename List>
  void shuffle(List& list) { std::shuffle(list.begin(), list.end(), random_); }

  // Like a node: 2 to 6 units, up to 3 devices, links of their own and a shared one.
  DivisionProblem node() {
    DivisionProblem problem;
    problem.items = integer(1, 20000);
    const int devices = integer(0, 3), units = integer(2, 6);
    for (int d = 0; d < devices; ++d) problem.devices.push_back(device(problem.items));
    for (int u = 0; u < units; ++u) problem.units.push_back(unit(problem.items, integer(-1, devices - 1)));
    relax_forcing(problem);
    return problem;
  }

  // Times from 1e-9 to 1e9 s, equal units, units that are as good as dead.
  DivisionProblem badly_scaled() {
    DivisionProblem problem;
    problem.items = std::ceil(magnitude(1, 1e7));
    const int devices = integer(0, 2), units = integer(2, 4);
    for (int d = 0; d < devices; ++d) {
      DeviceTerms terms;
      terms.lead = magnitude(1e-9, 1e9);
      terms.tail = {magnitude(1e-9, 1e3), magnitude(1e-9, 1e3) / problem.items};
      terms.in = {magnitude(1e-9, 1e9), magnitude(1e-9, 1e9) / problem.items};
      terms.out = {0, magnitude(1e-9, 1e9) / problem.items};
      if (chance(0.5)) terms.host = {magnitude(1e-9, 1e9), magnitude(1e-9, 1e9) / problem.items};
      terms.most = chance(0.3) ? std::floor(real(0, problem.items)) : problem.items;
      problem.devices.push_back(terms);
    }
    for (int u = 0; u < units; ++u) {
      const double slope = magnitude(1e-9, 1e9) / problem.items;
      problem.units.push_back({integer(-1, devices - 1), magnitude(1e-9, 1e9), slope, slope, 1, chance(0.05)});
    }
    if (chance(0.2)) problem.units[1] = problem.units[0];
    if (chance(0.2)) problem.units[0].slope = problem.units[0].least_slope = 1e9;
    relax_forcing(problem);
    return problem;
  }

 private:
  DeviceTerms device(double items) {
    DeviceTerms terms;
    terms.lead = magnitude(1e-5, 1e-2);
    terms.tail = {magnitude(1e-6, 1e-3), magnitude(1e-9, 1e-6)};
    terms.in = {magnitude(1e-5, 1e-2), magnitude(1e-7, 1e-4)};
    terms.out = {0, magnitude(1e-7, 1e-4)};
    if (chance(0.5)) terms.host = {magnitude(1e-6, 1e-2), magnitude(1e-8, 1e-4)};
    terms.most = chance(0.2) ? std::floor(real(0, items)) : items;
    return terms;
  }

  UnitTerms unit(double items, int device) {
    const double slope = magnitude(1e-6, 1e-3);
    UnitTerms terms{device, magnitude(1e-6, 1e-2), slope, slope * real(0.8, 1), 1, chance(0.1)};
    if (chance(0.3)) terms.least = std::min(items, static_cast<double>(integer(1, 512)));
    return terms;
  }

  std::mt19937 random_;
};

void expect_allowed(const DivisionProblem& problem, const Solution& solution, int i) {
  EXPECT_TRUE(allowed(problem, solution.items)) << solution.solver << " case " << i;
  EXPECT_NEAR(solution.makespan, makespan_of(problem, solution.items), 1e-12 * solution.makespan);
}

// Best division in which one unit does all but what is forced.
Seconds best_single(const DivisionProblem& problem) {
  Seconds best = INFINITY;
  for (std::size_t main = 0; main < problem.units.size(); ++main) {
    std::vector<double> items(problem.units.size(), 0);
    items[main] = problem.items;
    for (std::size_t u = 0; u < items.size(); ++u)
      if (problem.units[u].forced && u != main) {
        items[u] = problem.units[u].least;
        items[main] -= items[u];
      }
    if (allowed(problem, items)) best = std::min(best, makespan_of(problem, items));
  }
  return best;
}

TEST(Division, GlpkEqualsEnumerate) {
  Generator generate(1);
  int feasible = 0;
  for (int i = 0; i < 3000; ++i) {
    const DivisionProblem problem = generate.node();
    const Solution glpk = solve_glpk(problem, patient), enumerated = solve_enumerate(problem, patient);
    ASSERT_EQ(glpk.status, enumerated.status) << "case " << i;
    if (!enumerated.found()) continue;
    ++feasible;
    expect_allowed(problem, glpk, i);
    expect_allowed(problem, enumerated, i);
    ASSERT_NEAR(glpk.makespan, enumerated.makespan, agreement * enumerated.makespan) << "case " << i;
  }
  EXPECT_GT(feasible, 2500);
}

TEST(Division, IsBetweenItsBoundAndTheBestSingleUnit) {
  Generator generate(2);
  for (int i = 0; i < 2000; ++i) {
    const DivisionProblem problem = generate.node();
    const Solution solution = solve_enumerate(problem, patient);
    if (!solution.found()) continue;
    const Solution bound = solve_enumerate(relaxation(problem), patient);
    ASSERT_TRUE(bound.found()) << "case " << i;
    EXPECT_LE(bound.makespan, solution.makespan * (1 + 1e-9)) << "case " << i;
    EXPECT_LE(solution.makespan, best_single(problem) * (1 + 1e-9)) << "case " << i;
  }
}

TEST(Division, AFurtherUnitNeverHurts) {
  Generator generate(3);
  for (int i = 0; i < 2000; ++i) {
    DivisionProblem problem = generate.node();
    const Solution before = solve_enumerate(problem, patient);
    if (!before.found()) continue;
    problem.units.push_back(generate.node().units.front());
    problem.units.back().device = generate.integer(-1, static_cast<int>(problem.devices.size()) - 1);
    problem.units.back().forced = false;
    const Solution after = solve_enumerate(problem, patient);
    ASSERT_TRUE(after.found()) << "case " << i;
    EXPECT_LE(after.makespan, before.makespan * (1 + 1e-8)) << "case " << i;
  }
}

TEST(Division, PermutingTheUnitsKeepsTheMakespan) {
  Generator generate(4);
  for (int i = 0; i < 500; ++i) {
    const DivisionProblem problem = generate.node();
    DivisionProblem permuted = problem;
    generate.shuffle(permuted.units);
    for (const auto solver : {solve_glpk, solve_enumerate}) {
      const Solution a = solver(problem, patient), b = solver(permuted, patient);
      ASSERT_EQ(a.found(), b.found()) << "case " << i;
      EXPECT_NEAR(a.makespan, b.makespan, agreement * a.makespan) << "case " << i;
    }
  }
}

DivisionProblem scaled(DivisionProblem problem, double factor) {
  for (UnitTerms& unit : problem.units)
    for (double* seconds : {&unit.fixed, &unit.slope, &unit.least_slope}) *seconds *= factor;
  for (DeviceTerms& device : problem.devices)
    for (double* seconds : {&device.lead, &device.tail.fixed, &device.tail.slope, &device.in.fixed,
                            &device.in.slope, &device.out.fixed, &device.out.slope, &device.host.fixed,
                            &device.host.slope})
      *seconds *= factor;
  return problem;
}

TEST(Division, ScalingAllTimesScalesTheMakespan) {
  Generator generate(5);
  for (int i = 0; i < 500; ++i) {
    const DivisionProblem problem = generate.node();
    const double factor = generate.magnitude(1e-4, 1e6);
    for (const auto solver : {solve_glpk, solve_enumerate}) {
      const Solution a = solver(problem, patient), b = solver(scaled(problem, factor), patient);
      ASSERT_EQ(a.found(), b.found()) << "case " << i;
      EXPECT_NEAR(a.makespan * factor, b.makespan, agreement * b.makespan) << "case " << i;
    }
  }
}

long resident_kib() {
  std::ifstream status("/proc/self/statm");
  long size = 0, resident = 0;
  status >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST(Division, ManyBadlyScaledProblemsNeitherAbortNorDisagreeNorLeak) {
  Generator generate(6);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  int fallbacks = 0;
  long before = 0;
  for (int i = 0; i < 100000; ++i) {
    if (i == 1000) before = resident_kib();
    const DivisionProblem problem = generate.badly_scaled();
    const Solution solution = solve("glpk", problem, patient), exact = solve_enumerate(problem, patient);
    fallbacks += solution.found() && solution.solver != "glpk";
    ASSERT_EQ(solution.found(), exact.found()) << "case " << i;
    if (!exact.found()) continue;
    ASSERT_NEAR(solution.makespan, exact.makespan, agreement * exact.makespan) << "case " << i;
  }
  const long after = resident_kib();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_LT(after - before, 4096) << "KiB more after 99000 solves";
  EXPECT_LT(fallbacks, 1000) << "of 100000 problems needed the fallback";
  std::printf("fallbacks: %d of 100000\n", fallbacks);
}

}  // namespace
}  // namespace poas::detail

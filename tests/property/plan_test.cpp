// Laws that every plan obeys, on generated operations and machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "adapt/adapt.hpp"
#include "candidates.hpp"
#include "poas/error.hpp"
#include "support/small_nodes.hpp"

namespace poas::test {
namespace {

constexpr int cases = 2000;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t integer(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }
  // Evenly over the orders of magnitude.
  double magnitude(double least, double most) {
    return std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(random_));
  }
  bool one_in(std::uint64_t n) { return integer(1, n) == 1; }

  Operation operation() {
    const auto extent = [this] {
      return one_in(5) ? integer(1, 5) : one_in(6) ? integer(701, 20000) : integer(1, 700);
    };
    Operation made =
        one_in(3) ? halved(gemm(extent(), extent(), extent())) : gemm(extent(), extent(), extent());
    for (Implementation& one : made.implementations)
      for (std::size_t d = 0; d < 2; ++d) {
        one.multiple[d] = one_in(2) ? 1 : integer(2, 64);
        one.least[d] = one_in(2) ? 1 : integer(2, 40);
      }
    return made;
  }

  Node node(std::size_t units) {
    Node made = test::node();
    made.machine.host_link_bytes_per_s = one_in(2) ? 0 : magnitude(1e9, 1e11);
    made.machine.task_overhead = one_in(3) ? 0 : 5e-6;
    made.machine.split_overhead = one_in(3) ? 0 : 5e-5;
    for (std::size_t u = 0; u < units; ++u) add_unit(made, u);
    return made;
  }

 private:
  // A second form: two dimensions, a halo and a replicated operand, written only.
  Operation halved(const Operation& from) {
    Operation made = from;
    made.dims.pop_back();
    const std::uint64_t m = made.dims[0].extent, n = made.dims[1].extent;
    made.name = "stream";
    made.operands = {{Access::read, 4, {{Follow::halo, 0, m, 1, 1}, {Follow::split, 1, n}}},
                     {Access::read, 4, {{Follow::replicated, -1, 100}}},
                     {Access::write, 4, {{Follow::split, 0, m}, {Follow::split, 1, n}}}};
    made.work_per_point = 300;
    return made;
  }

  void add_unit(Node& made, std::size_t u) {
    const std::string name = "unit" + std::to_string(u);
    const bool host = made.machine.units.empty() || one_in(4);
    const char* implementation = host ? "cpu" : "cuda";
    const double rate = magnitude(1e10, host ? 1e11 : 5e13);
    if (host) made.host(name, static_cast<unsigned>(integer(1, 20)), rate);
    if (!host) made.device(name, rate, magnitude(1e9, 1e11), 1e-5);
    if (!host) made.machine.devices.back().memory_bytes = magnitude(1e8, 1e12);
    made.speed(name, implementation, rate, one_in(2) ? 0 : 1e-5);
    if (one_in(2)) return;
    for (auto& [key, model] : made.models.times)
      if (key.unit == name) {
        model.tile[0] = std::uint64_t{1} << integer(0, 7);
        model.tile[1] = std::uint64_t{1} << integer(0, 7);
        model.parallel = static_cast<unsigned>(integer(1, 132));
      }
  }

  std::mt19937_64 random_;
};

std::string words(const Operation& operation, const Node& node, int seed) {
  return "case " + std::to_string(seed) + ": " + operation.name + " " +
         std::to_string(operation.dims[0].extent) + "x" + std::to_string(operation.dims[1].extent) + " " +
         to_json(node.machine);
}

// The fast solver serves all cases; the other has its own suite.  A busy machine must not change plans.
Request quick(SplitMode mode = SplitMode::automatic) {
  Request request;
  request.solver = "enumerate";
  request.solver_time_limit = 60;
  request.split = mode;
  return request;
}

TEST(PlanLaws, BlocksTileExactlyAndRespectLeastMemoryAndPrecision) {
  int split = 0;
  for (int seed = 0; seed < cases; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 6));
    const Plan plan = node.plan(operation, quick(seed % 3 == 0 ? SplitMode::always : SplitMode::automatic));
    ASSERT_NO_THROW(validate(plan, operation, node.machine)) << words(operation, node, seed);
    double share = 0;
    for (const PlanUnit& unit : plan.units) share += unit.share;
    ASSERT_NEAR(share, plan.whole_unit < 0 && !plan.split ? 0 : 1, 1e-9) << words(operation, node, seed);
    ASSERT_GE(plan.makespan, plan.bound * (1 - 1e-9)) << words(operation, node, seed);
    split += plan.split ? 1 : 0;
  }
  // The law would be empty if nothing were ever split.
  EXPECT_GT(split, cases / 4);
}

TEST(PlanLaws, AtMostOneUnitIsOffItsGrain) {
  for (int seed = 0; seed < cases; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 6));
    const CostTable costs = node.costs(operation);
    Split split;
    split.dim = 0;
    double sum = 0;
    for (std::size_t u = 0; u < node.machine.units.size(); ++u) {
      split.share.push_back(costs.units[u].usable() ? make.magnitude(1, 1000) : 0);
      sum += split.share.back();
    }
    if (sum == 0) continue;
    const double extent = static_cast<double>(operation.dims[0].extent);
    for (double& share : split.share) share *= extent / sum;
    std::uint64_t covered = 0;
    int odd = 0;
    for (const Part& part : adapt(operation, node.machine, costs, split).parts) {
      const UnitCost& cost = costs.units[static_cast<std::size_t>(part.unit)];
      odd +=
          part.range.size() % detail::grain_of(operation, cost, 0, detail::Grain::preferred) != 0 ? 1 : 0;
      ASSERT_GE(part.range.size(), detail::least_of(operation, cost, 0)) << words(operation, node, seed);
      ASSERT_EQ(part.range.begin, covered) << words(operation, node, seed);
      covered = part.range.end;
    }
    ASSERT_EQ(covered, operation.dims[0].extent) << words(operation, node, seed);
    ASSERT_LE(odd, 1) << words(operation, node, seed);
  }
}

TEST(PlanLaws, NeverSlowerThanOneWorkerOfAnyUnit) {
  for (int seed = 0; seed < cases; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 6));
    const CostTable costs = node.costs(operation);
    const Request request = quick();
    const State idle;
    const detail::Problem problem{operation, node.machine, costs, idle, request};
    const Plan plan = node.plan(operation, request);
    for (std::size_t u = 0; u < node.machine.units.size(); ++u) {
      const detail::Candidate whole = detail::whole_on(problem, static_cast<int>(u));
      if (!whole.valid) continue;
      ASSERT_LE(plan.makespan, whole.makespan * (1 + 1e-9)) << words(operation, node, seed);
    }
  }
}

// The search is local: a further unit can lead it elsewhere.  That must stay rare and cheap.
TEST(PlanLaws, AFurtherUnitHardlyEverCostsMoreThanTheLeastGain) {
  int compared = 0, worse = 0;
  for (int seed = 0; seed < cases / 2; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 5));
    Request request = quick();
    const Plan all = node.plan(operation, request);
    for (std::size_t u = 0; u + 1 < node.machine.units.size(); ++u)
      request.units.push_back(node.machine.units[u].name);
    const Plan fewer = node.plan(operation, request);
    if (fewer.whole_unit < 0 && !fewer.split) continue;
    ++compared;
    worse += all.makespan > fewer.makespan * (1 + request.least_gain) ? 1 : 0;
    ASSERT_LE(all.makespan, fewer.makespan * 1.2) << words(operation, node, seed);
  }
  EXPECT_GT(compared, cases / 4);
  EXPECT_LE(worse, compared / 100);
}

TEST(PlanLaws, TheOrderOfUnitsDoesNotMatter) {
  for (int seed = 0; seed < cases / 2; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 5));
    Node turned = node;
    std::reverse(turned.machine.units.begin(), turned.machine.units.end());
    const Plan one = node.plan(operation, quick()), other = turned.plan(operation, quick());
    ASSERT_DOUBLE_EQ(one.makespan, other.makespan) << words(operation, node, seed);
    for (std::size_t u = 0; u < one.units.size(); ++u) {
      const PlanUnit& here = one.units[u];
      const PlanUnit& there = other.units[one.units.size() - 1 - u];
      ASSERT_EQ(here.name, there.name);
      ASSERT_DOUBLE_EQ(here.share, there.share) << words(operation, node, seed);
    }
  }
}

TEST(PlanLaws, AlwaysUsesTwoUnitsWheneverItCan) {
  int tried = 0;
  for (int seed = 0; seed < cases; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    Operation operation = make.operation();
    for (Implementation& one : operation.implementations) one.least = ones();
    Node node = make.node(make.integer(2, 6));
    for (Device& device : node.machine.devices) device.memory_bytes = 1e15;
    if (!can_cut(operation, 0) && !can_cut(operation, 1)) continue;
    const Plan plan = node.plan(operation, quick(SplitMode::always));
    ASSERT_GE(std::count_if(plan.units.begin(), plan.units.end(),
                            [](const PlanUnit& unit) { return unit.blocks > 0; }),
              2)
        << words(operation, node, seed);
    ++tried;
  }
  EXPECT_GT(tried, cases / 2);
}

TEST(PlanLaws, PlansAreRepeatable) {
  for (int seed = 0; seed < 100; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 6));
    ASSERT_EQ(node.plan(operation, quick()).tasks.blocks, node.plan(operation, quick()).tasks.blocks);
  }
}

// Moves one face of one block: the result must overlap or leave a hole.
TEST(PlanLaws, ASpoiltPlanIsRefused) {
  int spoilt = 0;
  for (int seed = 0; seed < 500; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Node node = make.node(make.integer(2, 6));
    Plan plan = node.plan(operation, quick());
    if (!plan.split) continue;
    Block& block = plan.tasks.blocks[make.integer(0, plan.tasks.blocks.size() - 1)];
    Range& range = block.box[make.integer(0, 1)];
    if (range.size() > 1 && make.one_in(2))
      ++range.begin;
    else
      ++range.end;
    ASSERT_THROW(validate(plan, operation, node.machine), Error) << words(operation, node, seed);
    ++spoilt;
  }
  EXPECT_GT(spoilt, 100);
}

TEST(PlanLaws, JsonParsesAndCountsTheBlocks) {
  for (int seed = 0; seed < 200; ++seed) {
    Generator make(static_cast<std::uint64_t>(seed));
    const Operation operation = make.operation();
    const Plan plan = make.node(make.integer(2, 6)).plan(operation, quick());
    const nlohmann::json json = nlohmann::json::parse(to_json(plan));
    ASSERT_EQ(json["blocks"].size(), plan.tasks.blocks.size());
    ASSERT_EQ(json["units"].size(), plan.units.size());
    ASSERT_FALSE(explain(plan).empty());
  }
}

}  // namespace
}  // namespace poas::test

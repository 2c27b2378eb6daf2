// One GEMM on a simulated node: under a policy of StarPU, split by hand, or split by poas.
//   node_gemm --truth FILE --n N --policy dmda --grid 8x8
//   node_gemm --truth FILE --n N --shares 10,30,60 --grid 4x4
//   node_gemm --truth FILE --n N --poas
//   node_gemm --truth FILE --n N --plan
//   node_gemm --truth FILE --n N --planning
//   node_gemm --truth FILE --n N --drift cuda1
// Prints one line of JSON.
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "poas/poas.h"
#include "runs.hpp"

namespace {

using gemm_node::Grid;
using gemm_node::Shape;

struct Options {
  std::string truth, policy, unit, models, drift;
  std::vector<double> shares;
  std::vector<std::string> grids{"1x1"};
  std::uint64_t n = 0, align = 128;
  Shape shape;
  double spread = 0.03;
  unsigned runs = 1;
  bool poas = false, plan = false, planning = false;
};

void parse(int argc, char** argv, Options& options) {
  CLI::App app{"One GEMM on a simulated node"};
  app.add_option("--truth", options.truth, "truth file of the node")->required();
  app.add_option("--n", options.n, "size of square matrices");
  app.add_option("-m", options.shape.m, "rows of C (default: n)");
  app.add_option("-c,--columns", options.shape.n, "columns of C (default: n)");
  app.add_option("-k", options.shape.k, "columns of A (default: n)");
  app.add_option("--spread", options.spread, "largest deviation of a duration from the formula");
  app.add_option("--grid", options.grids,
                 "blocks, ROWSxCOLUMNS; with --shares one for all or for each device")
      ->delimiter(',');
  app.add_option("--runs", options.runs, "how often to run; the last run counts")
      ->check(CLI::PositiveNumber);
  app.add_option("--align", options.align, "bounds of device blocks are multiples of this");
  auto* how = app.add_option_group("how");
  how->add_option("--policy", options.policy, "equal blocks under this policy of StarPU");
  how->add_option("--unit", options.unit, "everything on one unit, by name");
  how->add_option("--shares", options.shares, "a split by hand: shares of the CPU and of each device")
      ->delimiter(',');
  how->add_flag("--poas", options.poas, "one task on whole matrices, split by poas");
  app.add_option("--models", options.models, "for poas: file that keeps the models of the first run");
  how->add_flag("--plan", options.plan, "what poas would plan if it knew the truth");
  how->add_flag("--planning", options.planning, "real time that poas needs to plan, cold and from its cache");
  how->add_option("--drift", options.drift, "tasks under poas while this unit is three times slower for 30 of them");
  how->require_option(1);
  app.parse(argc, argv);
  for (auto* extent : {&options.shape.m, &options.shape.n, &options.shape.k})
    if (*extent == 0) *extent = options.n;
  if (options.shape.m * options.shape.n * options.shape.k == 0)
    throw std::invalid_argument("a size is 0: give --n, or -m, -c and -k");
}

std::vector<double> shares_of_unit(const std::string& name) {
  std::vector<double> shares(1 + gemm_node::node().devices.size(), 0.0);
  for (unsigned unit = 0; unit < shares.size(); ++unit)
    if (gemm_node::unit_name(unit) == name) shares[unit] = 1;
  return shares;
}

std::vector<Grid> grids_of(const Options& options) {
  const std::size_t devices = gemm_node::node().devices.size();
  std::vector<Grid> grids;
  for (const auto& text : options.grids) grids.push_back(gemm_node::grid_from_string(text));
  if (grids.size() == 1) grids.resize(devices, grids[0]);
  return grids;
}

nlohmann::json run_once(const Options& options) {
  if (options.poas) return gemm_node::run_poas(options.shape, options.models);
  if (!options.drift.empty()) return gemm_node::run_drift(options.shape, options.models, options.drift, 3);
  if (options.planning) return gemm_node::time_planning(options.shape, options.models);
  if (options.plan) return gemm_node::true_plan(options.shape);
  if (!options.policy.empty())
    return {{"makespan", gemm_node::run_policy(options.shape, grids_of(options).at(0))}};
  const auto shares = options.unit.empty() ? options.shares : shares_of_unit(options.unit);
  return {{"makespan", gemm_node::run_shares(options.shape, shares, grids_of(options), options.align)}};
}

// The last run counts: StarPU keeps the device buffers of earlier ones, so it allocates nothing.
nlohmann::json run(const Options& options) {
  for (unsigned i = 1; i < options.runs; ++i) run_once(options);
  return run_once(options);
}

// StarPU runs lws, without an error, for a policy that it does not find.
void check_policy(const std::string& wanted) {
  const std::string running = starpu_sched_get_sched_policy()->policy_name;
  if (running == wanted) return;
  starpu_shutdown();
  throw std::runtime_error("policy " + running + " runs in place of " + wanted +
                           ": is the name right, and STARPU_SCHED unset or the same?");
}

void start(const Options& options) {
  truth::Node node = truth::read(options.truth, "fp32");
  node.spread = options.spread;
  gemm_node::use_node(node);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = static_cast<int>(node.cores);
  conf.ncuda = static_cast<int>(node.devices.size());
  conf.nopencl = 0;
  const std::string policy = options.poas || options.planning || !options.drift.empty() ? "poas" : options.policy.empty() ? "eager" : options.policy;
  conf.sched_policy_name = policy.c_str();
  if (policy == "poas" && poas_conf_init(&conf) != 0) throw std::runtime_error(poas_last_error());
  if (const int code = starpu_init(&conf); code != 0)
    throw std::runtime_error("StarPU does not start, code " + std::to_string(code));
  if (!options.plan) check_policy(policy);  // a plan runs nothing
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    parse(argc, argv, options);
    start(options);
  } catch (const CLI::CallForHelp&) {
    std::cout << "see the head of tests/simgrid/node_gemm.cpp\n";
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "node_gemm: %s\n", error.what());
    return 2;
  }
  int code = 0;
  try {
    std::cout << run(options).dump() << std::endl;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "node_gemm: %s\n", error.what());
    code = 1;
  }
  starpu_shutdown();
  return code;
}

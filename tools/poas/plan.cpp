// `poas plan`: how an operation would be divided, without running it.
#include "poas/plan.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "node.hpp"
#include "poas/gemm.hpp"
#include "poas/learn.hpp"
#include "poas/runtime.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

struct Options {
  std::uint64_t m = 0, n = 0, k = 0;
  char transa = 'N', transb = 'N';
  std::string type = "fp32", precision, machine, models, objective = "time", split = "auto", units;
  bool accumulate = false, json = false;
};

Request request_of(const Options& options) {
  Request request;
  request.objective = objective_from_string(options.objective);
  request.split = split_mode_from_string(options.split);
  request.units = split_list(options.units);
  return request;
}

Operation operation_of(const Options& options) {
  const Type type = type_from_string(options.type);
  const Precision precision =
      options.precision.empty() ? precision_of(type) : precision_from_string(options.precision);
  return gemm_operation(options.m, options.n, options.k, type, precision, options.transa, options.transb,
                        options.accumulate ? Update::accumulate : Update::overwrite);
}

Machine probed() {
  const Session session;
  return probe();
}

// A file, else what calibration stored, else what StarPU finds now.
Machine machine_of(const Options& options, const Models& models) {
  if (!options.machine.empty()) return machine_from_json(read_file(options.machine));
  return models.machine ? *models.machine : probed();
}

void check_units(const Request& request, const Machine& machine) {
  std::string known;
  for (const Unit& unit : machine.units) known += (known.empty() ? "" : ", ") + unit.name;
  for (const std::string& name : request.units)
    if (std::none_of(machine.units.begin(), machine.units.end(),
                     [&](const Unit& unit) { return unit.name == name; }))
      throw Error(Errc::no_unit, "no unit is called '" + name + "' on this machine; it has: " + known);
}

int show(const Options& options) {
  const Request request = request_of(options);
  const Operation operation = operation_of(options);
  // Models of this host say nothing about a machine described in a file.
  const bool elsewhere = !options.machine.empty() && options.models.empty();
  Models models = elsewhere ? Models{} : stored_models(options.models).value_or(Models{});
  const Machine machine = machine_of(options, models);
  add_installed_models(models, machine);
  Learner learner;
  learner.resume(models.learned);
  models = learner.corrected(models);
  check_units(request, machine);
  const auto begin = std::chrono::steady_clock::now();
  Plan result = plan(operation, machine, models, State{}, request);
  result.plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << (options.json ? to_json(result) + "\n" : explain(result));
  return result.split || result.whole_unit >= 0 ? done : failed;
}

void add_size(CLI::App& app, const char* name, std::uint64_t& size, const char* text) {
  app.add_option(name, size, text)
      ->required()
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, (std::uint64_t{1} << 32) - 1));
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* group = app.add_subcommand("plan", "show how an operation would be divided");
  group->require_subcommand(1);
  CLI::App* sub = group->add_subcommand("gemm", "C = op(A) op(B), m x n, inner size k");
  add_size(*sub, "-m", options->m, "rows of C");
  add_size(*sub, "-n", options->n, "columns of C");
  add_size(*sub, "-k", options->k, "inner dimension");
  sub->add_option("--transa", options->transa, "N as it is, T transposed")
      ->check(CLI::IsMember({"N", "T"}));
  sub->add_option("--transb", options->transb, "N as it is, T transposed")
      ->check(CLI::IsMember({"N", "T"}));
  sub->add_flag("--accumulate", options->accumulate, "C is read too (beta other than 0)");
  sub->add_option("--type", options->type, "of the elements: fp64, fp32, fp16, bf16");
  sub->add_option("--precision", options->precision,
                  "least class that is good enough, default that of the type");
  sub->add_option("--machine", options->machine, "JSON file with a machine, default this node");
  sub->add_option("--models", options->models,
                  "JSON file with models, default those of this node, or guesses with --machine");
  sub->add_option("--objective", options->objective, "what to make small: time");
  sub->add_option("--split", options->split, "auto, never or always");
  sub->add_option("--units", options->units, "units that may be used, e.g. cpu,cuda0");
  sub->add_flag("--json", options->json, "as JSON");
  sub->footer("Sizes may be written as 16384 or 16k.");
  sub->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace poas::tool

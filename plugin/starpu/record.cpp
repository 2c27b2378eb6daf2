#include "starpu/record.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>

#include "poas/runtime.hpp"
#include "starpu/environment.hpp"
#include "starpu/errors.hpp"

namespace poas::edge {
namespace {

struct State {
  std::mutex mutex;
  Plan last;
  unsigned tasks = 0;
};

// Never destroyed: callbacks may run while the process ends.
State& state() {
  static State* const instance = new State;
  return *instance;
}

// Appends one line; several processes may share the file.
void append(const nlohmann::json& line) {
  const char* file = record_file();
  if (!file) return;
  std::FILE* stream = std::fopen(file, "a");
  if (!stream) {
    log_once(std::string("no record is written: ") + file + " cannot be opened; set POAS_RECORD to another file");
    return;
  }
  const std::string text = line.dump() + "\n";
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fclose(stream);
}

nlohmann::json timeline(const SplitRun& run) {
  auto events = nlohmann::json::array();
  for (const auto& block : run.blocks) {
    events.push_back({{"unit", run.planned->plan.units[static_cast<std::size_t>(block->unit)].name},
                      {"worker", block->worker},
                      {"begin", block->begin - run.begin},
                      {"end", block->end - run.begin},
                      {"predicted", block->predicted * 1e6}});
  }
  return events;
}

Plan measured_plan(const SplitRun& run) {
  Plan plan = run.planned->plan;
  for (const auto& block : run.blocks) {
    PlanUnit& unit = plan.units[static_cast<std::size_t>(block->unit)];
    unit.measured = std::max(unit.measured, (block->end - run.begin) * 1e-6);
  }
  plan.measured = (starpu_timing_now() - run.begin) * 1e-6;
  return plan;
}

unsigned keep(const Plan& plan) {
  std::lock_guard lock(state().mutex);
  state().last = plan;
  return state().tasks++;
}

}  // namespace

void record_split(const SplitRun& run, int status) {
  const Plan plan = measured_plan(run);
  const unsigned serial = keep(plan);
  if (explain_level() > 0) std::fprintf(stderr, "%s", explain(plan).c_str());
  if (!record_file()) return;
  append({{"task", serial},
          {"operation", run.planned->operation.name},
          {"split", true},
          {"reason", plan.reason},
          {"status", status},
          {"plan", nlohmann::json::parse(to_json(plan))},
          {"timeline", timeline(run)}});
}

void record_whole(const std::string& operation, const Decision& decision) {
  const bool wanted = record_file() || explain_level() > 1;
  if (!wanted) return;
  Plan plan;
  if (decision.planned) plan = decision.planned->plan;
  plan.split = false;
  plan.reason = decision.reason;
  if (explain_level() > 1) std::fprintf(stderr, "%s", explain(plan).c_str());
  append({{"task", keep(plan)},
          {"operation", operation},
          {"split", false},
          {"reason", decision.reason},
          {"status", decision.error},
          {"plan", decision.planned ? nlohmann::json::parse(to_json(plan)) : nlohmann::json()},
          {"timeline", nlohmann::json::array()}});
}

}  // namespace poas::edge

namespace poas {

Plan last_plan() {
  std::lock_guard lock(edge::state().mutex);
  return edge::state().last;
}

}  // namespace poas

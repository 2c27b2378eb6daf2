#include "starpu/record.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "poas/runtime.hpp"
#include "starpu/environment.hpp"
#include "starpu/errors.hpp"
#include "starpu/learning.hpp"

namespace poas::edge {
namespace {

// A divisible task that runs whole.
struct WholeRun {
  std::shared_ptr<const Planned> planned;
  std::string reason;
  double begin = 0;     // us
  double seconds = 0;   // measured
};

struct State {
  std::mutex mutex;
  Plan last;
  unsigned tasks = 0;
  WholeRun whole;            // the last one that ended, if it ended after `last`
  std::unordered_map<const starpu_task*, WholeRun> running;
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
  state().whole = {};
  return state().tasks++;
}

// The plan of a task that ran whole, whether or not it might have been split.
Plan whole_plan(const WholeRun& run) {
  Plan plan;
  if (run.planned) plan = run.planned->plan;
  if (plan.split) {
    plan.tasks.blocks.clear();
    for (PlanUnit& unit : plan.units) unit.blocks = 0, unit.share = unit.predicted = unit.compute = 0;
    plan.whole_unit = -1;
    const auto& whole = run.planned->whole;
    for (std::size_t u = 0; u < whole.size(); ++u)
      if (whole[u].seconds > 0 && (plan.whole_unit < 0 || whole[u].seconds < plan.makespan))
        plan.whole_unit = static_cast<int>(u), plan.makespan = whole[u].seconds;
    if (plan.whole_unit >= 0) plan.units[static_cast<std::size_t>(plan.whole_unit)].compute = plan.makespan;
    predict_energy(plan, run.planned->view->machine);
  }
  plan.split = false;
  plan.reason = run.reason;
  plan.measured = run.seconds;
  return plan;
}

void write_whole(const std::string& operation, const WholeRun& run, int status) {
  const Plan plan = whole_plan(run);
  if (explain_level() > 1) std::fprintf(stderr, "%s", explain(plan).c_str());
  append({{"task", keep(plan)},
          {"operation", operation},
          {"split", false},
          {"reason", run.reason},
          {"status", status},
          {"plan", run.planned ? nlohmann::json::parse(to_json(plan)) : nlohmann::json()},
          {"timeline", nlohmann::json::array()}});
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
  write_whole(operation, {decision.planned, decision.reason, 0, 0}, decision.error);
}

void expect_whole(const starpu_task* task, const Decision& decision) {
  std::lock_guard lock(state().mutex);
  state().running[task] = {decision.planned, decision.reason, 0, 0};
}

std::shared_ptr<const Planned> plan_of_whole(const starpu_task* task, const Registered& codelet, const View& view) {
  {
    std::lock_guard lock(state().mutex);
    const auto it = state().running.find(task);
    if (it != state().running.end() && it->second.planned) return it->second.planned;
  }
  return known_plan(task, codelet, view);
}

void whole_begins(const starpu_task* task) {
  std::lock_guard lock(state().mutex);
  const auto it = state().running.find(task);
  if (it != state().running.end()) it->second.begin = starpu_timing_now();
}

void whole_ended(const starpu_task* task) {
  WholeRun run;
  {
    std::lock_guard lock(state().mutex);
    const auto it = state().running.find(task);
    if (it == state().running.end()) return;
    run = std::move(it->second);
    state().running.erase(it);
    run.seconds = (starpu_timing_now() - run.begin) * 1e-6;
    state().whole = run;
  }
  const int unit = run.planned ? unit_of(*run.planned, starpu_worker_get_id(), starpu_task_get_implementation(const_cast<starpu_task*>(task))) : -1;
  if (unit >= 0 && poas_task_status(task) == 0) observe(*run.planned, unit, run.seconds);
  if (record_file() || explain_level() > 1)
    write_whole(find_registered(task->cl)->divisible->name, run, poas_task_status(task));
}

}  // namespace poas::edge

namespace poas {

Plan last_plan() {
  std::lock_guard lock(edge::state().mutex);
  const auto& whole = edge::state().whole;
  return whole.planned ? edge::whole_plan(whole) : edge::state().last;
}

}  // namespace poas

// Measures copies and blocks of a codelet on every unit of the node.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "models/experiment.hpp"
#include "models/median.hpp"
#include "models/scaled.hpp"
#include "poas/error.hpp"
#include "poas/runtime.hpp"
#include "starpu/links.hpp"
#include "starpu/measure.hpp"
#include "starpu/policy.hpp"
#include "starpu/power.hpp"
#include "starpu/split.hpp"
#include "starpu/task_costs.hpp"

namespace poas::edge {
namespace {

constexpr std::size_t least_blocks = 3;      // that a fit needs
constexpr double part_of_task_costs = 0.05;  // of the budget, where there are devices

// By the codelet itself where it can, else through tasks.
Blocks blocks_of(const Target& target, const CalibrationOptions& options, const Wanted& wanted) {
  constexpr std::size_t enough = 600, many = 4000;  // for the three terms of fit(), for whatever else is fitted
  Wanted by_codelet = wanted;
  by_codelet.most_blocks = options.fit ? many : enough;
  Blocks blocks = measure_by_codelet(target, by_codelet);
  return blocks.samples.size() < least_blocks ? measure_blocks(target, wanted) : blocks;
}

// The error is that of a fit to four fifths of the blocks on the others; the model is fitted to all.  A share is done
// when its last worker is, and on a busy node some cores take twice as long as others: the model tells of the slowest,
// its error of blocks on any.
CalibratedModel fit_blocks(Blocks blocks, int ndims, const CalibrationOptions& options) {
  CalibratedModel result;
  result.samples = std::move(blocks.samples);
  result.held_out = held_out(result.samples);
  std::vector<Sample> known, asked;
  for (std::size_t i = 0; i < result.samples.size(); ++i)
    (result.held_out[i] ? asked : known).push_back(result.samples[i]);
  const auto model_of = [&](const std::vector<Sample>& samples) {
    return options.fit ? options.fit(samples, ndims, blocks.parallel) : fit(samples, ndims);
  };
  const TimeModel judged = model_of(known);
  result.predicted = predictions(judged, result.samples, ndims);
  result.errors = errors_of(predictions(judged, asked, ndims), asked);
  result.slowest = blocks.slowest;
  result.spread = blocks.spread;
  result.model = scaled(model_of(result.samples), result.slowest);
  if (!asked.empty()) result.model.relative_error = result.errors.mean;
  return result;
}

// The model that came with poas for the unit's product stays if it errs here by no more than the new one, or by no more
// than twice what it errs where it was made; else "".
std::string shipped_instead(const Models& shipped, const ModelKey& key, const View& view, const Target& target,
                            const Blocks& blocks, double error) {
  const int device = view.machine.units[target.unit].device;
  if (device < 0) return "";
  const std::string& product = view.machine.devices[static_cast<std::size_t>(device)].product;
  const auto found = shipped.times.find({product, key.operation, key.implementation, key.type});
  if (found == shipped.times.end()) return "";
  const double its_error = mean_error(found->second, blocks.samples, static_cast<int>(target.codelet->divisible->ndims));
  if (its_error > std::max(error, 2 * found->second.relative_error)) return "";
  char words[160];
  std::snprintf(words, sizeof words, "the model of %s that came with poas errs by %.1f %% here, a new one by %.1f %%: it stays",
                product.c_str(), 100 * its_error, 100 * error);
  return words;
}

ModelKey key_of(const Target& target) {
  return {target.view->machine.units[target.unit].name, target.codelet->divisible->name, target.implementation.name,
          target.type};
}

// Measures one implementation on one unit and stores its model and its power; nothing if too few blocks ran.
void calibrate_target(const Target& target, const CalibrationOptions& options, const Wanted& wanted, const View& view,
                      const Models& shipped, PowerMeters& meters, Models& models) {
  const Blocks blocks = blocks_of(target, options, wanted);
  if (blocks.samples.size() < least_blocks) return;
  CalibratedModel result = fit_blocks(blocks, static_cast<int>(target.codelet->divisible->ndims), options);
  result.key = key_of(target);
  models.learned.erase(result.key);  // it tells of the model before
  result.instead = shipped_instead(shipped, result.key, view, target, blocks, result.model.relative_error);
  if (result.instead.empty())
    models.times[result.key] = result.model;
  else
    models.times.erase(result.key);
  if (const auto power = meters.measure(target, blocks)) models.powers[result.key] = *power;
  if (!models.machine) models.machine = view.machine;  // the one of before is replaced when all is measured
  if (options.calibrated) options.calibrated(result, models);
}

std::vector<Target> targets_of(const Registered& codelet, const View& view, const CalibrationOptions& options) {
  std::vector<Target> targets;
  Extents small;
  small.fill(least_extent);
  for (const Type type : options.types) {
    SampleTask probe(codelet, small, type);
    PlanKey key;
    if (!probe.get() || describe(probe.get(), codelet, view, key) != 0) continue;
    for (const Implementation& one : make_operation(probe.get(), key, view).implementations)
      for (std::size_t u = 0; u < view.machine.units.size(); ++u) {
        const auto refused = [&](const Refusal& r) { return r.unit == view.machine.units[u].name; };
        if (one.kind == view.machine.units[u].kind &&
            std::none_of(one.refusals.begin(), one.refusals.end(), refused))
          targets.push_back({&codelet, &view, u, one, type, options.repetitions, 0});
      }
  }
  for (Target& target : targets) {
    const int device = view.machine.units[target.unit].device;
    const auto sharing = std::count_if(targets.begin(), targets.end(), [&](const Target& other) {
      return view.machine.units[other.unit].device == device;
    });
    target.most_bytes = device < 0 ? INFINITY
                                   : view.machine.devices[static_cast<std::size_t>(device)].memory_bytes / 4 /
                                         static_cast<double>(sharing);
  }
  // Devices need less time for as many blocks: what they leave of the budget goes to the others.
  std::stable_partition(targets.begin(), targets.end(),
                        [&](const Target& target) { return view.machine.units[target.unit].device >= 0; });
  return targets;
}

bool known(const Target& target, const CalibrationOptions& options) {
  return std::count(options.done.begin(), options.done.end(), key_of(target)) > 0;
}

// Each target gets an equal part of what is left of the budget.
void calibrate_targets(std::vector<Target> targets, const CalibrationOptions& options, Seconds begin,
                       const View& view, const Models& shipped, PowerMeters& meters, Models& models) {
  const auto all = static_cast<double>(targets.size());
  std::erase_if(targets, [&](const Target& target) { return known(target, options); });
  const double part = view.machine.devices.empty() ? 1 : 1 - part_of_task_costs;
  const Seconds budget = options.budget * part * static_cast<double>(targets.size()) / all;
  const auto tell = [&](const std::string& what) {
    const Seconds spent = now_seconds() - begin;
    if (options.progress) options.progress({std::min(1.0, spent / budget), std::max(0.0, budget - spent), what});
  };
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ModelKey key = key_of(targets[i]);
    const std::string what = key.unit + " " + key.implementation + " " + to_string(key.type);
    tell(what);
    const Seconds share = (begin + budget - now_seconds()) / static_cast<double>(targets.size() - i);
    const Wanted wanted{share, options.most_blocks, options.seed, options.extents, [&] { tell(what); }};
    calibrate_target(targets[i], options, wanted, view, shipped, meters, models);
  }
}

}  // namespace
}  // namespace poas::edge

namespace poas {

Models calibrate(starpu_codelet* codelet, const CalibrationOptions& options) {
  using namespace edge;
  const Registered* registered = codelet ? find_registered(codelet) : nullptr;
  if (!registered || !registered->divisible->make_sample || !registered->divisible->free_sample)
    throw Error(Errc::invalid, "calibration needs a registered codelet with make_sample and free_sample");
  std::vector<int> workers(starpu_worker_get_count());
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i] = static_cast<int>(i);
  View view = make_view(workers.data(), static_cast<unsigned>(workers.size()));
  const int profiling = starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
  const Seconds begin = now_seconds();
  measure_links(view);
  PowerMeters meters(view);
  view.machine.source = "measured";
  Models models = planner().models_as_stored(), shipped;
  add_installed_models(shipped, view.machine);
  const auto targets = targets_of(*registered, view, options);
  if (targets.empty())
    throw Error(Errc::no_unit, "nothing can be measured: no unit of this node has an implementation of " +
                                   std::string(registered->divisible->name));
  models.when = today();
  calibrate_targets(targets, options, begin, view, shipped, meters, models);
  shipped.times.insert(models.times.begin(), models.times.end());
  measure_task_costs(targets, shipped, view.machine);
  starpu_profiling_status_set(profiling);
  models.machine = view.machine;
  return models;
}

Plan plan_task(starpu_task* task) {
  using namespace edge;
  const Registered* registered = task ? find_registered(task->cl) : nullptr;
  if (!registered) throw Error(Errc::invalid, "no plan: the task's codelet is not registered as divisible");
  const unsigned sched_ctx = task->sched_ctx < STARPU_NMAX_SCHED_CTXS ? task->sched_ctx : 0;
  const auto view = view_of(sched_ctx);
  PlanKey key;
  if (describe(task, *registered, *view, key) < 0) throw Error(Errc::invalid, key.operation.error);
  return plan_of(task, key, view)->plan;
}

}  // namespace poas

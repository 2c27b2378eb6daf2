// Measures copies and blocks of a codelet on every unit of the node.
#include <algorithm>
#include <cstdio>

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

constexpr std::size_t least_blocks = 3;  // that fit() needs

// A share is done when its last worker is, and on a busy node some cores take twice as long as others: the model tells
// of the slowest, its error of blocks on any.
TimeModel fit_blocks(const Blocks& blocks, int ndims, const CalibrationOptions& options) {
  const TimeModel model =
      options.fit ? options.fit(blocks.samples, ndims, blocks.parallel) : fit(blocks.samples, ndims);
  return scaled(model, median(blocks.slowest));
}

// By the codelet itself where it can, else through tasks.
Blocks blocks_of(const Target& target, const CalibrationOptions& options, Seconds budget) {
  constexpr std::size_t enough = 600, most = 20000;  // for the three terms of fit(), for whatever else is fitted
  Blocks blocks = measure_by_codelet(target, budget, options.extents, options.fit ? most : enough);
  return blocks.samples.size() < least_blocks ? measure_blocks(target, budget, options.extents) : blocks;
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

// Measures one implementation on one unit and stores its model and its power.  Words if another stays in its place.
std::string calibrate_target(const Target& target, const CalibrationOptions& options, Seconds budget, const View& view,
                             const Models& shipped, PowerMeters& meters, Models& models) {
  const poas_divisible& divisible = *target.codelet->divisible;
  const Blocks blocks = blocks_of(target, options, budget);
  if (blocks.samples.size() < least_blocks) return "";
  const TimeModel model = fit_blocks(blocks, static_cast<int>(divisible.ndims), options);
  const ModelKey key{view.machine.units[target.unit].name, divisible.name, target.implementation.name, target.type};
  models.learned.erase(key);  // it tells of the model before
  const std::string stays = shipped_instead(shipped, key, view, target, blocks, model.relative_error);
  if (stays.empty())
    models.times[key] = model;
  else
    models.times.erase(key);
  if (const auto power = meters.measure(target, blocks)) models.powers[key] = *power;
  return stays;
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
    const double memory =
        device < 0 ? blocks_per_model * most_bytes : view.machine.devices[static_cast<std::size_t>(device)].memory_bytes / 4;
    target.most_bytes = memory / static_cast<double>(sharing);
  }
  return targets;
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
  measure_links(view);
  PowerMeters meters(view);
  Models models = planner().models_as_stored(), shipped;
  add_installed_models(shipped, view.machine);
  const auto targets = targets_of(*registered, view, options);
  if (targets.empty())
    throw Error(Errc::no_unit, "nothing can be measured: no unit of this node has an implementation of " +
                                   std::string(registered->divisible->name));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    const std::string& unit = view.machine.units[target.unit].name;
    if (options.progress)
      options.progress(static_cast<double>(i) / static_cast<double>(targets.size()),
                       unit + " " + target.implementation.name + " " + to_string(target.type));
    const std::string stays = calibrate_target(target, options, options.budget / static_cast<double>(targets.size()), view,
                                               shipped, meters, models);
    if (options.progress && !stays.empty())
      options.progress((static_cast<double>(i) + 1) / static_cast<double>(targets.size()), stays);
  }
  shipped.times.insert(models.times.begin(), models.times.end());
  measure_task_costs(targets, shipped, view.machine);
  if (options.progress) options.progress(1, "done");
  starpu_profiling_status_set(profiling);
  view.machine.source = "measured";
  models.machine = view.machine;
  models.when = today();
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

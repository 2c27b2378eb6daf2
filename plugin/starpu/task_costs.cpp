#include "starpu/task_costs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/median.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr unsigned repetitions = 5;
constexpr double sizes[] = {2e6, 4e6, 8e6, 16e6, 32e6, 64e6};  // bytes of all operands: copies of 50 us to 2 ms
constexpr double aspects[] = {1, 4, 0.25};                     // the first extent over the others, in turn

// A plan on one device and how long it took.
struct Run {
  Operation operation;
  Plan plan;
  Machine machine;       // that the plan was made for
  Seconds measured = 0;
};

// Extents of about those bytes, with the first one longer or shorter than the others.
Extents extents_with(const Target& target, double size, double aspect) {
  constexpr unsigned steps = 4;
  const poas_divisible& d = *target.codelet->divisible;
  Extents extents;
  double side = 256;
  for (unsigned step = 0;; ++step) {
    extents.fill(1);
    for (unsigned i = 0; i < d.ndims; ++i)
      extents[i] = static_cast<std::uint64_t>(side * (i == 0 ? aspect : 1)) / 32 * 32 + 32;
    const SampleTask sample(*target.codelet, extents, target.type);
    PlanKey key;
    if (step == steps || !sample.get() || describe(sample.get(), *target.codelet, *target.view, key) != 0) return extents;
    const Operation operation = make_operation(sample.get(), key, *target.view);
    side *= std::sqrt(size / bytes(operation, whole_box(operation)));  // right at once if two dimensions carry the operands
  }
}

// The task divided on the unit alone; nullptr if that is not possible.
std::shared_ptr<const Planned> plan_on(const Target& target, const SampleTask& sample, const Models& models,
                                       const Machine& machine) {
  PlanKey key;
  if (!sample.get() || describe(sample.get(), *target.codelet, *target.view, key) != 0) return nullptr;
  auto planned = std::make_shared<Planned>();
  planned->operation = make_operation(sample.get(), key, *target.view);
  Request request;
  request.split = SplitMode::always;
  request.units = {machine.units[target.unit].name};
  request.precision = target.implementation.precision;
  planned->plan = plan(planned->operation, machine, models, {}, request);
  if (!planned->plan.split) return nullptr;
  planned->view = std::make_shared<View>(*target.view);
  planned->factors.assign(machine.units.size(), 1);
  return planned;
}

// Seconds of the divided task, the median of a few runs after one that allocates; 0 if it cannot be submitted.
Seconds time_of(const Target& target, SampleTask& sample, const std::shared_ptr<const Planned>& planned) {
  std::vector<double> times;
  for (unsigned i = 0; i <= repetitions; ++i) {
    const Seconds begin = now_seconds();
    split(sample.get(), *target.codelet, planned);
    if (starpu_task_submit(sample.get()) != 0 || starpu_task_wait(sample.get()) != 0) return 0;
    if (i > 0) times.push_back(now_seconds() - begin);
  }
  return median(times);
}

std::vector<Run> runs_of(const Target& target, const Models& models, const Machine& machine) {
  std::vector<Run> runs;
  for (const double size : sizes) {
    const double aspect = aspects[runs.size() % std::size(aspects)];
    SampleTask sample(*target.codelet, extents_with(target, size, aspect), target.type);
    const auto planned = plan_on(target, sample, models, machine);
    if (!planned) continue;
    const Seconds measured = time_of(target, sample, planned);
    if (measured > 0) runs.push_back({planned->operation, planned->plan, machine, measured});
  }
  return runs;
}

// What the plan says without a start latency, if copies had that latency.
Seconds predicted(const Run& run, int device, Seconds latency) {
  Machine other = run.machine;
  other.devices[static_cast<std::size_t>(device)].latency = latency;
  return run.plan.makespan - simulate(run.operation, run.machine, run.plan.costs, run.plan.tasks).makespan +
         simulate(run.operation, other, run.plan.costs, run.plan.tasks).makespan;
}

struct Fit {
  Seconds latency = 0, start = 0;
  double error = -1;   // mean, relative
};

// The start latency that is best with that latency: the median of what is missing, each weighted by one over its time.
Fit fit_start(const std::vector<Run>& runs, int device, Seconds latency) {
  struct Missing {
    Seconds seconds;
    double weight;
  };
  std::vector<Missing> missing;
  double all = 0, below = 0;
  for (const Run& run : runs) {
    missing.push_back({run.measured - predicted(run, device, latency), 1 / run.measured});
    all += missing.back().weight;
  }
  std::sort(missing.begin(), missing.end(), [](const Missing& a, const Missing& b) { return a.seconds < b.seconds; });
  Fit fit{latency, 0, 0};
  for (const Missing& one : missing)
    if ((below += one.weight) >= all / 2) {
      fit.start = std::max(0.0, one.seconds);
      break;
    }
  for (const Missing& one : missing) fit.error += std::abs(one.seconds - fit.start) * one.weight / static_cast<double>(runs.size());
  return fit;
}

}  // namespace

void measure_task_costs(const std::vector<Target>& targets, const Models& models, Machine& machine) {
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    Device& device = machine.devices[d];
    device.start_latency = 0;
    std::vector<Run> runs;
    for (const Target& target : targets)
      if (machine.units[target.unit].device == static_cast<int>(d)) {
        auto some = runs_of(target, models, machine);
        runs.insert(runs.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
      }
    if (runs.empty()) continue;
    Fit best;
    for (const double factor : {0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}) {
      const Fit one = fit_start(runs, static_cast<int>(d), factor * device.latency);
      if (best.error < 0 || one.error < best.error) best = one;
    }
    device.latency = best.latency;
    device.start_latency = best.start;
  }
}

}  // namespace poas::edge

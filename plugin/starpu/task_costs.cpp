#include "starpu/task_costs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/median.hpp"
#include "schedule/grid.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr unsigned repetitions = 5;
constexpr double sizes[] = {4e6, 8e6, 16e6, 32e6, 64e6, 128e6};  // bytes of all operands: copies of 0.1 to 10 ms

// A division of a task on one device and how long it took.
struct Run {
  std::shared_ptr<const Planned> planned;
  Seconds predicted = 0, measured = 0;
};

// Extents of about those bytes.  One dimension is short, so that computation, which models may get wrong, hardly counts.
Extents extents_with(const Target& target, double size, unsigned short_dim) {
  constexpr unsigned steps = 4;
  const poas_divisible& d = *target.codelet->divisible;
  Extents extents;
  double side = 256;
  for (unsigned step = 0;; ++step) {
    extents.fill(1);
    for (unsigned i = 0; i < d.ndims; ++i)
      extents[i] = d.ndims > 1 && i == short_dim ? 2 * least_extent : static_cast<std::uint64_t>(side) / 32 * 32 + 32;
    const SampleTask sample(*target.codelet, extents, target.type);
    PlanKey key;
    if (step == steps || !sample.get() || describe(sample.get(), *target.codelet, *target.view, key) != 0) return extents;
    const Operation operation = make_operation(sample.get(), key, *target.view);
    side *= std::sqrt(size / bytes(operation, whole_box(operation)));  // right at once if two dimensions carry the operands
  }
}

// The task in that many panels on the unit alone; nullptr if that is not possible.
std::shared_ptr<const Planned> divide(const Target& target, const SampleTask& sample, const Models& models, std::uint64_t panels) {
  PlanKey key;
  if (!sample.get() || describe(sample.get(), *target.codelet, *target.view, key) != 0) return nullptr;
  auto planned = std::make_shared<Planned>();
  planned->view = std::make_shared<View>(*target.view);
  planned->operation = make_operation(sample.get(), key, *target.view);
  planned->factors.assign(planned->view->machine.units.size(), 1);
  Plan& plan = planned->plan;
  const Machine& machine = planned->view->machine;
  Request request;
  request.units = {machine.units[target.unit].name};
  request.precision = target.implementation.precision;
  plan.costs = predict(planned->operation, machine, models, request);
  plan.units.resize(machine.units.size());
  const auto dims = detail::second_dims(planned->operation, -1);
  if (dims.empty() || !plan.costs.units[target.unit].usable()) return nullptr;
  plan.split = true;
  plan.dim = dims.front();
  const Range all{0, planned->operation.dims[static_cast<std::size_t>(plan.dim)].extent};
  const detail::Job job{planned->operation, plan.costs.units[target.unit], plan.dim, {static_cast<int>(target.unit), all}};
  plan.tasks.blocks = detail::blocks_of(job, {-1, panels, 1, detail::Grain::least});
  return planned;
}

// Operands are pinned as those of applications should be; where they are already, or cannot be, nothing is done.
class Pinned {
 public:
  explicit Pinned(const starpu_task* task) {
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); ++i) {
      HostArray array;
      if (!host_array(STARPU_TASK_GET_HANDLE(task, i), array) || array.pointer == 0) continue;
      const unsigned last = array.naxes - 1;
      const std::size_t size = array.element_bytes * array.stride[last] * array.extent[last];
      void* const address = reinterpret_cast<void*>(array.pointer);
      if (starpu_memory_pin(address, size) == 0) parts_.emplace_back(address, size);
    }
  }
  ~Pinned() {
    for (const auto& [address, size] : parts_) starpu_memory_unpin(address, size);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  std::vector<std::pair<void*, std::size_t>> parts_;
};

// Seconds of the divided task, the median of a few runs after one that allocates; 0 if it cannot be submitted.
Seconds time_of(const Target& target, SampleTask& sample, const std::shared_ptr<const Planned>& planned) {
  const Pinned pinned(sample.get());
  std::vector<double> times;
  for (unsigned i = 0; i <= repetitions; ++i) {
    const Seconds begin = now_seconds();
    split(sample.get(), *target.codelet, planned);
    if (starpu_task_submit(sample.get()) != 0 || starpu_task_wait(sample.get()) != 0) return 0;
    if (i > 0) times.push_back(now_seconds() - begin);
  }
  return median(times);
}

// What plans would say without a start latency and if blocks cost nothing to submit.
Seconds predicted(const Planned& planned) {
  const Machine& machine = planned.view->machine;
  return machine.split_overhead + simulate(planned.operation, machine, planned.plan.costs, planned.plan.tasks).makespan;
}

std::vector<Run> runs_of(const Target& target, const Models& models) {
  std::vector<Run> runs;
  unsigned turn = 0;
  for (const double size : sizes) {
    const unsigned short_dim = turn % target.codelet->divisible->ndims;
    SampleTask sample(*target.codelet, extents_with(target, size, short_dim), target.type);
    const auto planned = divide(target, sample, models, std::uint64_t{1} << (1 + turn++ % 4));
    if (!planned) continue;
    const Seconds measured = time_of(target, sample, planned);
    if (measured > 0) runs.push_back({planned, predicted(*planned), measured});
  }
  return runs;
}

struct Fit {
  Seconds start = 0;
  double error = 0;   // mean, relative
};

// The start latency that is best with that overhead of a block: the median of what is missing, each weighted by one over
// its time.
Fit fit_start(const std::vector<Run>& runs, Seconds block_overhead) {
  struct Missing {
    Seconds seconds;
    double weight;
  };
  std::vector<Missing> missing;
  double all = 0, below = 0;
  for (const Run& run : runs) {
    const auto blocks = static_cast<double>(run.planned->plan.tasks.blocks.size());
    missing.push_back({run.measured - run.predicted - blocks * block_overhead, 1 / run.measured});
    all += missing.back().weight;
  }
  std::sort(missing.begin(), missing.end(), [](const Missing& a, const Missing& b) { return a.seconds < b.seconds; });
  Fit fit;
  for (const Missing& one : missing)
    if ((below += one.weight) >= all / 2) {
      fit.start = std::max(0.0, one.seconds);
      break;
    }
  for (const Missing& one : missing)
    fit.error += std::abs(one.seconds - fit.start) * one.weight / static_cast<double>(missing.size());
  return fit;
}

}  // namespace

void measure_task_costs(const std::vector<Target>& targets, const Models& models, Machine& machine) {
  std::vector<std::vector<Run>> runs(machine.devices.size());
  for (const Target& target : targets) {
    const int device = machine.units[target.unit].device;
    if (device < 0) continue;
    auto some = runs_of(target, models);
    auto& all = runs[static_cast<std::size_t>(device)];
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  if (std::all_of(runs.begin(), runs.end(), [](const auto& some) { return some.empty(); })) return;
  constexpr Seconds most_overhead = 100e-6, step = 1e-6;
  double least_error = -1;
  for (Seconds overhead = 0; overhead <= most_overhead; overhead += step) {
    double error = 0;
    for (const auto& some : runs) error += some.empty() ? 0 : fit_start(some, overhead).error;
    if (least_error >= 0 && error >= least_error) continue;
    least_error = error;
    machine.block_overhead = overhead;
  }
  for (std::size_t d = 0; d < runs.size(); ++d)
    if (!runs[d].empty()) machine.devices[d].start_latency = fit_start(runs[d], machine.block_overhead).start;
}

}  // namespace poas::edge

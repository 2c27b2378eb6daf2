// Measures blocks of a codelet on every unit through StarPU, so that simulated nodes calibrate the same way.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>

#include "models/median.hpp"
#include "models/scaled.hpp"
#include "poas/error.hpp"
#include "poas/runtime.hpp"
#include "starpu/blocks.hpp"
#include "starpu/links.hpp"
#include "starpu/policy.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr unsigned blocks_per_model = 32;
constexpr double shortest = 100e-6, longest = 1.0;   // seconds of a measured block
constexpr double most_bytes = 768e6;                 // of the operands measured at once
constexpr std::uint64_t most_extent = 16384, least_extent = 16;

double now_seconds() { return starpu_timing_now() * 1e-6; }

// A task of the codelet with operands of its own.
class SampleTask {
 public:
  SampleTask(const Registered& codelet, const Extents& extents, Type type) : codelet_(codelet) {
    task_ = codelet.divisible->make_sample(extents.data(), static_cast<poas_type>(type));
    if (!task_) return;
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task_); ++i) {
      handles_.push_back(STARPU_TASK_GET_HANDLE(task_, i));
      modes_.push_back(STARPU_TASK_GET_MODE(task_, i));
    }
  }
  ~SampleTask() {
    if (task_) codelet_.divisible->free_sample(task_);
  }
  SampleTask(const SampleTask&) = delete;
  SampleTask& operator=(const SampleTask&) = delete;

  const starpu_task* get() const { return task_; }
  void bring_home() const {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (!(modes_[i] & STARPU_W)) continue;
      starpu_data_acquire(handles_[i], STARPU_R);
      starpu_data_release(handles_[i]);
    }
  }
  starpu_task* make_block(BlockRun& block) const {
    starpu_task* task = make_block_task(codelet_, block, handles_, modes_);
    task->cl_arg = task_->cl_arg;
    task->cl_arg_size = task_->cl_arg_size;
    task->detach = 0;
    task->destroy = 0;
    return task;
  }

 private:
  const Registered& codelet_;
  starpu_task* task_ = nullptr;
  std::vector<starpu_data_handle_t> handles_;
  std::vector<starpu_data_access_mode> modes_;
};

// What is measured: one implementation on one unit.
struct Target {
  const Registered* codelet;
  const View* view;
  std::size_t unit;
  Implementation implementation;
  Type type;
  unsigned repetitions;
  double most_bytes;            // of all its samples together
};

// One worker's place, so that each core of the CPU unit gets one block.
std::vector<UnitWorkers> places_of(const UnitWorkers& unit) {
  std::vector<UnitWorkers> places;
  for (std::size_t worker = 0; worker < STARPU_NMAXWORKERS; ++worker) {
    if (!unit.workers.test(worker)) continue;
    places.push_back({{}, unit.node});
    places.back().workers.set(worker);
  }
  return places;
}

// Runs one block on every worker of the unit at once; the times in seconds, empty if one failed.
std::vector<double> run_once(const Target& target, const std::vector<std::unique_ptr<SampleTask>>& samples,
                             const std::vector<UnitWorkers>& places) {
  std::vector<std::unique_ptr<BlockRun>> blocks;
  std::vector<starpu_task*> tasks;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto block = std::make_unique<BlockRun>();
    block->unit = static_cast<int>(target.unit);
    block->nimpl = target.implementation.nimpl;
    block->place = &places[i];
    tasks.push_back(samples[i]->make_block(*block));
    blocks.push_back(std::move(block));
  }
  bool failed = false;
  for (starpu_task* task : tasks) failed |= starpu_task_submit(task) != 0;
  std::vector<double> times;
  for (std::size_t i = 0; i < tasks.size() && !failed; ++i) {
    failed |= starpu_task_wait(tasks[i]) != 0;
    const auto* info = tasks[i]->profiling_info;
    if (info) times.push_back(starpu_timing_timespec_delay_us(const_cast<timespec*>(&info->start_time),
                                                              const_cast<timespec*>(&info->end_time)) * 1e-6);
    failed |= blocks[i]->error != 0;
  }
  for (starpu_task* task : tasks) starpu_task_destroy(task);
  return failed ? std::vector<double>{} : times;
}

struct Measured {
  Sample sample;      // the median time
  double slowest = 1; // of the workers at once, over it
};

// Runs a block with these extents on all workers at once, several times; false if it cannot be run.
bool measure(const Target& target, const Extents& extents, Measured& result) {
  const auto places = places_of(target.view->units[target.unit]);
  std::vector<std::unique_ptr<SampleTask>> samples;
  for (std::size_t i = 0; i < places.size(); ++i) {
    samples.push_back(std::make_unique<SampleTask>(*target.codelet, extents, target.type));
    if (!samples.back()->get()) return false;
  }
  PlanKey key;
  if (describe(samples.front()->get(), *target.codelet, *target.view, key) != 0) return false;
  const Operation operation = make_operation(samples.front()->get(), key, *target.view);
  std::vector<double> times, slowest;
  for (unsigned i = 0; i < target.repetitions + 1; ++i) {
    const auto some = run_once(target, samples, places);
    if (some.empty()) return false;
    if (i == 0) continue;  // brings the operands
    times.insert(times.end(), some.begin(), some.end());
    slowest.push_back(*std::max_element(some.begin(), some.end()));
  }
  Sample& sample = result.sample;
  sample.extents = extents_of(operation);
  sample.work = work(operation, sample.extents);
  sample.bytes = bytes(operation, whole_box(operation));
  sample.seconds = median(times);
  if (!(sample.seconds > 0)) return false;
  result.slowest = median(slowest) / sample.seconds;
  return true;
}

// Random extents whose product times `per_point` is about `work`: shapes from tall to flat, a third of
// them ragged.
Extents random_extents(std::mt19937& random, const poas_divisible& d, double points) {
  std::uniform_real_distribution<double> aspect(-1.0, 1.0);
  std::uniform_int_distribution<int> ragged(0, 2);
  const double side = std::pow(points, 1.0 / d.ndims);
  const std::uint64_t most = d.ndims == 1 ? std::uint64_t{1} << 28 : most_extent;
  const std::uint64_t grain = ragged(random) == 0 ? 1 : 32;
  Extents extents;
  extents.fill(1);
  for (unsigned i = 0; i < d.ndims; ++i) {
    const double wish = side * std::exp2(2.0 * aspect(random));
    const auto extent = static_cast<std::uint64_t>(std::clamp(wish, double(least_extent), double(most)));
    extents[i] = std::max(least_extent, extent / grain * grain);
  }
  return extents;
}

struct Blocks {
  std::vector<Sample> samples;
  std::vector<double> slowest;
};

// Blocks from short to long ones; each size follows from the speed seen so far.
Blocks measure_blocks(const Target& target, Seconds budget, const std::vector<Extents>& wanted) {
  Blocks blocks;
  const poas_divisible& d = *target.codelet->divisible;
  std::mt19937 random(20240607u + static_cast<unsigned>(target.unit));  // any fixed seed: runs repeat
  const Seconds begin = now_seconds();
  const unsigned count = wanted.empty() ? blocks_per_model : static_cast<unsigned>(wanted.size());
  // The mean of log-uniform times is about a ninth of the longest.
  const Seconds end = std::clamp(9 * budget / (count * (target.repetitions + 1)), 10 * shortest, longest);
  double points_per_s = 1e8 / 1e-2;
  double points = 64.0 * 64.0 * 64.0;
  double left = target.most_bytes;
  for (unsigned i = 0; i < count && now_seconds() - begin < budget; ++i) {
    const Extents extents = wanted.empty() ? random_extents(random, d, points) : wanted[i];
    Measured measured;
    if (!measure(target, extents, measured)) break;
    const Sample& sample = measured.sample;
    blocks.samples.push_back(sample);
    blocks.slowest.push_back(measured.slowest);
    left = std::max(0.0, left - sample.bytes);
    double product = 1;
    for (const std::uint64_t extent : sample.extents) product *= static_cast<double>(extent);
    points_per_s = i == 0 ? product / sample.seconds : std::max(points_per_s, product / sample.seconds);
    const double next = shortest * std::pow(end / shortest, (i + 1.0) / (count - 1.0));
    const double workers = target.view->machine.units[target.unit].workers;
    // StarPU keeps what samples allocated on a device; a full memory would slow later tasks.
    const double room = std::min(most_bytes / workers, 2 * left / (count - i));
    const double fit = std::pow(room / (sample.bytes / std::pow(product, 2.0 / d.ndims)), d.ndims / 2.0);
    points = std::min({points_per_s * next, fit, 8 * std::max(points, product)});
  }
  return blocks;
}

// A share is done when its last worker is, and on a busy node some cores take twice as long as others: the model tells
// of the slowest, its error of blocks on any.
TimeModel fit_blocks(const Blocks& blocks, int ndims) {
  return scaled(fit(blocks.samples, ndims), median(blocks.slowest));
}

// By how much a small task on the unit takes longer, from submission until its results are in host memory, than its
// model and copies say.
Seconds start_latency(const Target& target, const TimeModel& model) {
  constexpr unsigned tasks = 9;
  constexpr std::uint64_t extent = 256;
  const Device& device = target.view->machine.devices[static_cast<std::size_t>(target.view->machine.units[target.unit].device)];
  const auto places = places_of(target.view->units[target.unit]);
  Extents extents;
  extents.fill(1);
  std::fill_n(extents.begin(), target.codelet->divisible->ndims, extent);
  std::vector<double> more;
  for (unsigned i = 0; i < tasks; ++i) {
    std::vector<std::unique_ptr<SampleTask>> samples;
    samples.push_back(std::make_unique<SampleTask>(*target.codelet, extents, target.type));
    PlanKey key;
    if (!samples[0]->get() || describe(samples[0]->get(), *target.codelet, *target.view, key) != 0) return 0;
    const Operation operation = make_operation(samples[0]->get(), key, *target.view);
    Seconds expected = evaluate(model, operation, whole_box(operation));
    for (const Operand& operand : operation.operands) {
      const Bytes size = bytes(operand, whole_box(operation));
      if (operand.access != Access::write) expected += device.latency + size / device.h2d_bytes_per_s;
      if (operand.access != Access::read) expected += device.latency + size / device.d2h_bytes_per_s;
    }
    const Seconds begin = now_seconds();
    if (run_once(target, samples, {places.front()}).empty()) return 0;
    samples[0]->bring_home();
    more.push_back(now_seconds() - begin - expected);
  }
  return std::max(0.0, median(more));
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

// Measures one implementation on one unit and stores its model, and what the device takes to start.  Words if another
// model stays in its place.
std::string calibrate_target(const Target& target, const CalibrationOptions& options, Seconds budget, View& view,
                             const Models& shipped, Models& models) {
  const poas_divisible& divisible = *target.codelet->divisible;
  const Blocks blocks = measure_blocks(target, budget, options.extents);
  if (blocks.samples.size() < 3) return "";
  const TimeModel model = fit_blocks(blocks, static_cast<int>(divisible.ndims));
  const Unit& unit = view.machine.units[target.unit];
  if (unit.device >= 0) {
    Seconds& least = view.machine.devices[static_cast<std::size_t>(unit.device)].start_latency;
    const Seconds latency = start_latency(target, model);
    least = least > 0 ? std::min(least, latency) : latency;
  }
  const ModelKey key{unit.name, divisible.name, target.implementation.name, target.type};
  const std::string stays = shipped_instead(shipped, key, view, target, blocks, model.relative_error);
  if (stays.empty())
    models.times[key] = model;
  else
    models.times.erase(key);
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

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
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
                                               shipped, models);
    if (options.progress && !stays.empty())
      options.progress((static_cast<double>(i) + 1) / static_cast<double>(targets.size()), stays);
  }
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

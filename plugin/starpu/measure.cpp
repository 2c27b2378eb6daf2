#include "starpu/measure.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "models/median.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr double shortest = 100e-6, longest = 1.0;   // seconds of a measured block
constexpr std::uint64_t most_extent = 16384;

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

}  // namespace

double now_seconds() { return starpu_timing_now() * 1e-6; }

std::vector<UnitWorkers> places_of(const UnitWorkers& unit) {
  std::vector<UnitWorkers> places;
  for (std::size_t worker = 0; worker < STARPU_NMAXWORKERS; ++worker) {
    if (!unit.workers.test(worker)) continue;
    places.push_back({{}, unit.node});
    places.back().workers.set(worker);
  }
  return places;
}

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

}  // namespace poas::edge

#include "starpu/measure.hpp"

#include <algorithm>
#include <cmath>

#include "models/experiment.hpp"
#include "models/median.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr Seconds shortest = 100e-6, longest = 1.0;  // of a measured block
constexpr double longest_in_budget = 1.0 / 300;      // so that about 200 blocks fit into it
constexpr Seconds enough_seconds = 3e-3;             // of measuring one block: short ones are repeated
constexpr unsigned most_runs = 3;                    // of a short block in a round, times the rounds
constexpr double share_of_memory = 1.0 / 16;         // of what is left of it, for one block
constexpr double most_growth = 8;                    // of the points beyond the largest block so far
constexpr double first_points = 32 * 32 * 32;
constexpr std::uint64_t most_extent = 16384, most_extent_of_one = std::uint64_t{1} << 28;

using SampleTasks = std::vector<std::unique_ptr<SampleTask>>;  // one for each worker

// What a worker took, and what it took at about that moment for the control block.
struct Run {
  Seconds seconds, control;
};
struct Measured {
  Sample sample;
  std::vector<Run> runs;
  std::vector<Seconds> slowest;  // of the workers that ran at once
};

double quantile(std::vector<Seconds> values, double part) {
  const auto rank = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), rank, values.end());
  return *rank;
}

// Empty if there is no memory for them.
SampleTasks sample_tasks(const Target& target, const Extents& extents, std::size_t workers) {
  SampleTasks samples;
  while (samples.size() < workers) {
    samples.push_back(std::make_unique<SampleTask>(*target.codelet, extents, target.type));
    if (!samples.back()->get()) return {};
  }
  return samples;
}

// A block that is run again beside every other: nodes, above all virtual ones, change their speed by a quarter within
// seconds, and blocks of different moments can be compared by what the control took then.
class Control {
 public:
  explicit Control(const Target& target) : target_(target), places_(places_of(target.view->units[target.unit])) {
    if (target.repetitions < 2) return;  // times that do not vary
    Extents extents;
    extents.fill(1);
    for (double points = first_points; points < most_points; points *= most_growth) {
      const auto side =
          static_cast<std::uint64_t>(std::lround(std::pow(points, 1.0 / target.codelet->divisible->ndims)));
      std::fill_n(extents.begin(), target.codelet->divisible->ndims, side / 32 * 32);
      samples_ = sample_tasks(target, extents, places_.size());
      const auto times = fastest();
      if (times.empty() || *std::max_element(times.begin(), times.end()) > enough) return;
    }
  }

  // Of each worker now; empty if it cannot be run.
  std::vector<Seconds> fastest() const {
    std::vector<Seconds> result(places_.size(), samples_.empty() ? 1.0 : INFINITY);
    for (unsigned i = 0; i < repetitions && !samples_.empty(); ++i) {
      const auto times = run_once(target_, samples_, places_);
      if (times.size() != result.size()) return {};
      std::transform(times.begin(), times.end(), result.begin(), result.begin(),
                     [](Seconds a, Seconds b) { return std::min(a, b); });
    }
    return result;
  }

 private:
  static constexpr unsigned repetitions = 4;
  static constexpr Seconds enough = 200e-6;
  static constexpr double most_points = 1e9;

  const Target& target_;
  std::vector<UnitWorkers> places_;
  SampleTasks samples_;
};

// Runs a block with these extents on all workers at once, a short one several times; false if it cannot be run.
bool measure(const Target& target, const Extents& extents, const Control& control, Measured& result) {
  const auto places = places_of(target.view->units[target.unit]);
  const SampleTasks samples = sample_tasks(target, extents, places.size());
  PlanKey key;
  if (samples.empty() || describe(samples.front()->get(), *target.codelet, *target.view, key) != 0) return false;
  const Operation operation = make_operation(samples.front()->get(), key, *target.view);
  result.sample.extents = extents_of(operation);
  result.sample.work = work(operation, result.sample.extents);
  result.sample.bytes = bytes(operation, whole_box(operation));
  const auto now = control.fastest();
  if (now.empty() || run_once(target, samples, places).empty()) return false;  // brings the operands
  const Seconds begin = now_seconds();
  for (unsigned i = 0; i == 0 || (i < most_runs * target.repetitions && now_seconds() - begin < enough_seconds); ++i) {
    const auto some = run_once(target, samples, places);
    if (some.size() != places.size()) return false;
    for (std::size_t worker = 0; worker < some.size(); ++worker) result.runs.push_back({some[worker], now[worker]});
    result.slowest.push_back(*std::max_element(some.begin(), some.end()));
  }
  result.sample.seconds = median(result.slowest);  // until all has been measured
  return result.sample.seconds > 0;
}

// How large the next block may be, from those measured so far.
class Reach {
 public:
  explicit Reach(const Target& target)
      : ndims_(static_cast<int>(target.codelet->divisible->ndims)),
        most_(most_bytes / target.view->machine.units[target.unit].workers),
        left_(target.most_bytes) {}

  void add(const Sample& sample) {
    const double points = product(sample.extents);
    points_ += points;
    seconds_ += sample.seconds;
    largest_ = std::max(largest_, points);
    bytes_per_face_ = std::max(bytes_per_face_, sample.bytes / faces(sample.extents));
    // StarPU keeps what samples allocated on a device; a full memory would slow later tasks.
    left_ = std::max(0.0, left_ - sample.bytes);
  }

  // Extents of a block that takes about so long and fits into memory.
  Extents extents(const SpreadPoints& spread, std::uint64_t index, Seconds seconds) const {
    const double points = largest_ == 0 ? first_points : std::min(points_ / seconds_ * seconds, most_growth * largest_);
    const std::uint64_t most = ndims_ == 1 ? most_extent_of_one : most_extent;
    const Extents wish = spread_extents(spread, index, ndims_, points, least_extent, most);
    const double excess = bytes_per_face_ * faces(wish) / std::min(most_, share_of_memory * left_);
    if (excess <= 1) return wish;
    return spread_extents(spread, index, ndims_, points / std::pow(excess, ndims_ < 3 ? 1.0 : 1.5), least_extent, most);
  }

 private:
  static double product(const Extents& extents) {
    double result = 1;
    for (const std::uint64_t extent : extents) result *= static_cast<double>(extent);
    return result;
  }
  // What the operands of most operations grow with: in one and two dimensions the points, else the sides of the block.
  double faces(const Extents& extents) const {
    const double points = product(extents);
    double sum = 0;
    for (int d = 0; d < ndims_; ++d) sum += points / static_cast<double>(extents[static_cast<std::size_t>(d)]);
    return ndims_ < 3 ? points : sum;
  }

  int ndims_;
  double most_, left_;
  double points_ = 0, seconds_ = 0, largest_ = 0, bytes_per_face_ = 0;
};

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
    if (info)
      times.push_back(starpu_timing_timespec_delay_us(const_cast<timespec*>(&info->start_time),
                                                      const_cast<timespec*>(&info->end_time)) *
                      1e-6);
    failed |= blocks[i]->error != 0;
  }
  for (starpu_task* task : tasks) starpu_task_destroy(task);
  return failed ? std::vector<double>{} : times;
}

namespace {

// Times as if the control had always taken what it took in the middle.
Blocks summary(const std::vector<Measured>& measured) {
  Blocks blocks;
  if (measured.empty()) return blocks;
  std::vector<Seconds> controls;
  for (const Measured& one : measured)
    for (const Run& run : one.runs) controls.push_back(run.control);
  const Seconds usual = median(controls);
  std::vector<double> slowest, spread;
  for (const Measured& one : measured) {
    std::vector<Seconds> times;
    for (const Run& run : one.runs) times.push_back(run.seconds * usual / run.control);
    blocks.samples.push_back(one.sample);
    blocks.samples.back().seconds = median(times);
    slowest.push_back(median(one.slowest) / median(times));
    spread.push_back(quantile(times, 0.75) / quantile(times, 0.25) - 1);
  }
  blocks.slowest = median(slowest);
  blocks.spread = median(spread);
  return blocks;
}

}  // namespace

Blocks measure_blocks(const Target& target, const Wanted& wanted) {
  std::vector<Measured> measured;
  const SpreadPoints spread(wanted.seed);
  const Seconds begin = now_seconds(), round = wanted.budget / target.repetitions;
  const std::size_t count = wanted.extents.empty() ? wanted.most_blocks : wanted.extents.size();
  const Seconds end = std::clamp(longest_in_budget * wanted.budget, 10 * shortest, longest);
  const Control control(target);
  Reach reach(target);
  for (std::size_t i = 0; i < count && now_seconds() - begin < round; ++i) {
    const Seconds seconds = shortest * std::pow(end / shortest, spread_length(spread, i));
    const Extents extents = wanted.extents.empty() ? reach.extents(spread, i, seconds) : wanted.extents[i];
    Measured one;
    if (!measure(target, extents, control, one)) break;
    reach.add(one.sample);
    measured.push_back(std::move(one));
    if (wanted.progress) wanted.progress();
  }
  // What disturbs one run may disturb those after it, so a block is repeated when all others have been measured.
  for (unsigned again = 1; again < target.repetitions; ++again)
    for (Measured& one : measured) {
      if (now_seconds() - begin >= wanted.budget) break;
      measure(target, one.sample.extents, control, one);
      if (wanted.progress) wanted.progress();
    }
  return summary(measured);
}

}  // namespace poas::edge

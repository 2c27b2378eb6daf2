// Blocks that the codelet measures itself, thousands in the time that a hundred tasks take.
#include <cmath>

#include "poas/shapes.hpp"
#include "starpu/errors.hpp"
#include "starpu/measure.hpp"

namespace poas::edge {
namespace {

constexpr std::uint64_t first_extent = 256;     // of the block that tells the speed roughly
constexpr double launches_of_a_block = 7;       // about: to warm up, and batches of one launch
constexpr double most_of_budget = 1.0 / 20;     // that one block may take

// What the task on the worker does.
struct Job {
  const Target& target;
  const Wanted& wanted;
  Blocks blocks{};
};

// The codelet's function with the state that it keeps.
class Measure {
 public:
  explicit Measure(const Target& target) : divisible_(*target.codelet->divisible) {
    for (unsigned i = 0; i < divisible_.nimplementations; ++i) {
      const poas_implementation& one = divisible_.implementations[i];
      if (target.implementation.name == one.name && target.implementation.nimpl == one.nimpl &&
          static_cast<UnitKind>(one.unit) == target.implementation.kind && static_cast<Type>(one.type) == target.type)
        implementation_ = i;
    }
  }
  ~Measure() {
    if (state_) divisible_.end_measuring(state_);
  }
  Measure(const Measure&) = delete;
  Measure& operator=(const Measure&) = delete;

  int operator()(const Extents& extents, poas_measurement& measurement) {
    poas_block block{};
    std::copy(extents.begin(), extents.end(), block.extent);
    block.implementation = implementation_;
    return divisible_.measure_block(&state_, &block, &measurement);
  }

 private:
  const poas_divisible& divisible_;
  unsigned implementation_ = 0;
  void* state_ = nullptr;
};

// Shapes that are wanted, or random ones that do not take too much of the budget on a device as fast as seen so far.
class Shapes {
 public:
  explicit Shapes(const Job& job)
      : job_(job), ndims_(static_cast<int>(job.target.codelet->divisible->ndims)), random_(job.wanted.seed, ndims_) {}

  // False if this one is left out.
  bool next(Extents& extents) {
    if (!job_.wanted.extents.empty()) {
      extents = job_.wanted.extents[count_++];
      return true;
    }
    if (count_++ == 0) {
      extents.fill(1);
      std::fill_n(extents.begin(), ndims_, first_extent);
      return true;
    }
    extents = random_.next();
    if (points_per_s_ == 0) return true;  // none has fitted yet
    return launches_of_a_block * points(extents) <= most_of_budget * job_.wanted.budget * points_per_s_;
  }
  bool ended() const { return !job_.wanted.extents.empty() && count_ == job_.wanted.extents.size(); }
  void took(const Extents& extents, Seconds seconds) {
    points_per_s_ = std::max(points_per_s_, points(extents) / seconds);
  }

 private:
  double points(const Extents& extents) const {
    double product = 1;
    for (int i = 0; i < ndims_; ++i) product *= static_cast<double>(extents[static_cast<std::size_t>(i)]);
    return product;
  }

  const Job& job_;
  int ndims_;
  RandomShapes random_;
  std::size_t count_ = 0;
  double points_per_s_ = 0;
};

bool valid(const poas_measurement& m) {
  return std::isfinite(m.seconds) && m.seconds > 0 && std::isfinite(m.work) && m.work > 0 && std::isfinite(m.bytes) &&
         m.bytes >= 0;
}

void measure_all(Job& job) {
  Measure measure(job.target);
  Shapes shapes(job);
  Extents extents;
  for (const Seconds end = now_seconds() + job.wanted.budget;
       !shapes.ended() && job.blocks.samples.size() < job.wanted.most_blocks && now_seconds() < end;) {
    if (!shapes.next(extents)) continue;
    poas_measurement measured{};
    const int error = measure(extents, measured);
    if (error == -ENOMEM) continue;
    if (error != 0) return;
    if (!valid(measured)) {
      poas_report_error(-EINVAL, "measure_block of '%s' gave no positive seconds and work: set them before returning 0",
                        job.target.codelet->divisible->name);
      return;
    }
    shapes.took(extents, measured.seconds);
    job.blocks.samples.push_back({extents, measured.work, measured.bytes, measured.seconds});
    job.blocks.parallel = std::max(1u, measured.parallel);
    if (job.wanted.progress) job.wanted.progress();
  }
}

void run(void* job) {
  guard([&] { measure_all(*static_cast<Job*>(job)); });
}

}  // namespace

Blocks measure_by_codelet(const Target& target, const Wanted& wanted) {
  if (!target.codelet->divisible->measure_block) return {};
  unsigned worker = 0;
  while (!target.view->units[target.unit].workers.test(worker)) ++worker;
  Job job{target, wanted};
  starpu_execute_on_specific_workers(run, &job, 1, &worker, "poas_measure");
  return std::move(job.blocks);
}

}  // namespace poas::edge

// Blocks of a codelet measured through StarPU, so that simulated nodes are measured the same way.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "poas/models.hpp"
#include "starpu/blocks.hpp"
#include "starpu/task_operation.hpp"

namespace poas::edge {

double now_seconds();

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

  starpu_task* get() const { return task_; }
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
  unsigned repetitions;         // of each block, far apart
  double most_bytes;            // of all its samples together in the device's memory
};

constexpr double most_bytes = 768e6;  // of the operands measured at once
constexpr std::uint64_t least_extent = 16;

// One worker's place, so that each core of the CPU unit gets one block.
std::vector<UnitWorkers> places_of(const UnitWorkers& unit);

// Runs one block on every worker of the unit at once; the times in seconds, empty if one failed.
std::vector<double> run_once(const Target& target, const std::vector<std::unique_ptr<SampleTask>>& samples,
                             const std::vector<UnitWorkers>& places);

struct Blocks {
  std::vector<Sample> samples;  // the median time of the workers
  double slowest = 1;           // time of the slowest of the workers that ran at once over that
  double spread = 0;            // by how much the slow quarter of a block's runs took longer than the fast one
  unsigned parallel = 1;        // tiles that the device computes at once, if the codelet tells
};

// What is to be measured of a target.
struct Wanted {
  Seconds budget = 0;
  std::size_t most_blocks = 0;
  std::uint64_t seed = 0;                    // of the shapes
  std::vector<Extents> extents;              // empty: chosen by seed and budget
  std::function<void()> progress;            // called after each block
};

// Blocks spread over shapes and times, as many as the budget allows; each size follows from the speed seen so far.
Blocks measure_blocks(const Target& target, const Wanted& wanted);

// Blocks that the codelet measures itself on the first worker of the unit, `wanted.most_blocks` of them or as many as
// the budget allows; none if it does not, or not on this unit.  Random shapes if none are wanted.
Blocks measure_by_codelet(const Target& target, const Wanted& wanted);

}  // namespace poas::edge

// Block tasks: what each must know, and the functions that StarPU calls for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "starpu/planner.hpp"
#include "starpu/task_operation.hpp"

namespace poas::edge {

struct SplitRun;

// One block on its way through StarPU; the callback argument of its task.
struct BlockRun {
  SplitRun* run = nullptr;        // nullptr: a calibration sample
  Box box{};
  int unit = -1;
  unsigned nimpl = 0;
  const UnitWorkers* place = nullptr;
  double predicted = 0;           // seconds
  std::uint64_t order = 0;        // program order within the process
  starpu_task* task = nullptr;
  bool released = false;          // handed to the queue of its unit
  bool prefetched = false;
  int worker = -1;
  double begin = 0, end = 0;      // us, as starpu_timing_now()
  int error = 0;
  std::string why;
  std::vector<int> failed_units;
};

// The block of a task, nullptr if it is none of ours.  Until the task has ended.
BlockRun* block_of(const starpu_task* task);
// can_execute of block codelets: only the planned unit and implementation.
int block_can_execute(unsigned worker, starpu_task* task, unsigned nimpl);
// A task, not submitted, that runs `block` of `codelet` on these handles.
starpu_task* make_block_task(const Registered& codelet, BlockRun& block,
                             const std::vector<starpu_data_handle_t>& handles,
                             const std::vector<starpu_data_access_mode>& modes);

}  // namespace poas::edge

// The scheduling policy's state for one context.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "starpu/blocks.hpp"
#include "starpu/idle.hpp"
#include "starpu/view.hpp"

namespace poas::edge {

struct Queued {
  starpu_task* task = nullptr;
  int priority = 0;
  std::uint64_t order = 0;
};

// Highest priority first, then program order.  Guarded by the context's mutex; `size` may be read
// without it.
class TaskQueue {
 public:
  void push(const Queued& entry);
  const Queued& top() const { return heap_.front(); }
  Queued pop();
  bool empty() const { return heap_.empty(); }
  const std::vector<Queued>& entries() const { return heap_; }
  std::atomic<unsigned> size{0};

 private:
  std::vector<Queued> heap_;
};

struct WorkerState {
  TaskQueue queue;                    // ordinary tasks placed on this worker
  double queued = 0;                  // us of predicted work in the queue
  double busy_until = 0;              // us, predicted end of what was popped
  std::vector<TaskQueue*> units;      // queues of blocks that this worker serves
  IdleSleep idle;
  int node = STARPU_MAIN_RAM;
  starpu_worker_archtype type = STARPU_CPU_WORKER;
};

struct Context {
  starpu_pthread_mutex_t mutex;
  std::vector<int> workers;
  std::vector<std::unique_ptr<WorkerState>> worker;   // by worker id, null if not in the context
  std::vector<std::unique_ptr<TaskQueue>> unit;       // by unit of the view
  std::atomic<unsigned> ordinary{0};                  // ordinary tasks in all queues
  std::uint64_t next_order = 0;

  Context();
  ~Context();
  // Rebuilds the view after the workers changed; queued blocks stay.
  void set_workers(const std::vector<int>& ids);
  // The present view; made again when the models were replaced, or StarPU knows more than before.
  std::shared_ptr<const View> view();
  // The queue of the block's unit, nullptr if no worker of it is in the context.  Mutex held.
  TaskQueue* queue_of(const BlockRun& block);

 private:
  void rebuild();

  std::shared_ptr<const View> view_;
  unsigned models_version_ = 0;
};

Context* context_of(unsigned sched_ctx);
// The view of a context, whatever its policy.
std::shared_ptr<const View> view_of(unsigned sched_ctx);
// Whether poas is the policy of the context.
bool runs_poas(unsigned sched_ctx);

int push(Context& context, starpu_task* task);
starpu_task* pop(Context& context, int worker);

}  // namespace poas::edge

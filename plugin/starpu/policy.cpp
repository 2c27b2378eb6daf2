// Placement of ready tasks.  Blocks go to the queue of their unit; ordinary tasks to the worker that is
// predicted to finish them first, with StarPU's models.
#include "starpu/policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "starpu/perfmodel.hpp"
#include "starpu/record.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

#ifdef STARPU_NON_BLOCKING_DRIVERS
constexpr bool workers_poll = true;
#else
constexpr bool workers_poll = false;
#endif

constexpr double unknown_length = 1;  // us, for tasks without a model: places by number
constexpr unsigned blocks_ahead = 6;  // whose inputs are prefetched

// The mutex of a context, taken the way that StarPU asks of workers.
class RelaxedLock {
 public:
  explicit RelaxedLock(Context& context) : context_(context) {
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&context_.mutex);
    starpu_worker_relax_off();
  }
  ~RelaxedLock() { STARPU_PTHREAD_MUTEX_UNLOCK(&context_.mutex); }
  RelaxedLock(const RelaxedLock&) = delete;
  RelaxedLock& operator=(const RelaxedLock&) = delete;

 private:
  Context& context_;
};

void wake(Context& context, int worker) {
  if (workers_poll)
    context.worker[static_cast<std::size_t>(worker)]->idle.wake();
  else
    starpu_wake_worker_relax_light(worker);
}

// --- blocks --------------------------------------------------------------------------------------

// A write-only buffer that is prefetched stays unevictable in StarPU 1.4, so inputs go one by one.
void prefetch(const BlockRun& block) {
  const auto node = static_cast<unsigned>(block.place->node);
  const unsigned n = STARPU_TASK_GET_NBUFFERS(block.task);
  bool write_only = false;
  for (unsigned i = 0; i < n; ++i) write_only |= !(STARPU_TASK_GET_MODE(block.task, i) & STARPU_R);
  if (!write_only) {
    starpu_prefetch_task_input_on_node(block.task, node);
    return;
  }
  for (unsigned i = 0; i < n; ++i)
    if (STARPU_TASK_GET_MODE(block.task, i) == STARPU_R)
      starpu_data_prefetch_on_node(STARPU_TASK_GET_HANDLE(block.task, i), node, 1);
}

// The next blocks of the unit whose inputs are not under way, at most `most`.  Mutex held.
std::vector<BlockRun*> next_to_prefetch(const BlockRun& from, unsigned most) {
  std::vector<BlockRun*> next;
  if (from.place->node == STARPU_MAIN_RAM || !from.run || !starpu_get_prefetch_flag()) return next;
  unsigned ahead = 0;
  for (BlockRun* block : from.run->launched) {
    if (block->unit != from.unit || block->order < from.order) continue;
    if (++ahead > most) break;
    if (block->prefetched) continue;
    block->prefetched = true;
    next.push_back(block);
  }
  return next;
}

// Blocks of one unit become ready in any order; they are queued together so that they start in plan order.
std::vector<BlockRun*> release(BlockRun& block) {
  if (!block.run || block.released) return {&block};
  unsigned& waiting = block.run->unit_waiting[static_cast<std::size_t>(block.unit)];
  if (--waiting > 0) return {};
  std::vector<BlockRun*> ready;
  for (BlockRun* one : block.run->launched)
    if (one->unit == block.unit && !one->released) ready.push_back(one);
  return ready;
}

int push_block(Context& context, BlockRun& block) {
  starpu_task* task = block.task;
  starpu_task_set_implementation(task, block.nimpl);
  starpu_push_task_end(task);
  std::vector<BlockRun*> ready;
  {
    const RelaxedLock lock(context);
    ready = release(block);
    if (ready.empty()) return 0;
    for (BlockRun* one : ready) one->released = true;
  }
  // Nobody can pop them yet, so their tasks are safe to look at.
  for (BlockRun* one : next_to_prefetch(*ready.front(), blocks_ahead)) prefetch(*one);
  const auto workers = block.place->workers;
  {
    const RelaxedLock lock(context);
    TaskQueue* queue = context.queue_of(block);
    if (!queue) return -ENODEV;
    for (BlockRun* one : ready) queue->push({one->task, one->task->priority, one->order});
  }
  for (const int worker : context.workers)
    if (workers.test(static_cast<std::size_t>(worker))) wake(context, worker);
  return 0;
}

// --- ordinary tasks --------------------------------------------------------------------------------

struct Candidate {
  int worker = -1;
  unsigned nimpl = 0;
  double length = 0, transfer = 0;   // us
  bool measured = true;
};

double unit_seconds(const Planned& planned, int worker, unsigned& nimpl) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t u = 0; u < planned.whole.size(); ++u) {
    const auto& whole = planned.whole[u];
    if (whole.seconds <= 0 || !planned.view->units[u].workers.test(static_cast<std::size_t>(worker))) continue;
    if (!(best <= whole.seconds)) best = whole.seconds, nimpl = whole.nimpl;
  }
  return best;
}

// The ways in which a worker can run the task; with a plan, only the implementation that keeps its precision.
void add_candidates(std::vector<Candidate>& all, starpu_task* task, int worker, const Planned* planned) {
  const auto id = static_cast<unsigned>(worker);
  unsigned mask = 0;
  if (!starpu_worker_can_execute_task_impl(id, task, &mask)) return;
  const bool away = starpu_memory_nodes_get_count() > 1 && STARPU_TASK_GET_NBUFFERS(task) > 0;
  const double transfer = away ? starpu_task_expected_data_transfer_time_for(task, id) : 0;
  if (planned) {
    Candidate one{worker, 0, 0, transfer, true};
    one.length = unit_seconds(*planned, worker, one.nimpl) * 1e6;
    if (std::isfinite(one.length) && (mask >> one.nimpl & 1)) all.push_back(one);
    return;
  }
  for (unsigned nimpl = 0; nimpl < STARPU_MAXIMPLEMENTATIONS; ++nimpl) {
    if (!(mask >> nimpl & 1)) continue;
    const double length =
        task->cl->model ? starpu_task_worker_expected_length(task, id, task->sched_ctx, nimpl) : unknown_length;
    const bool known = length > 0 && length < unusable_us;
    all.push_back({worker, nimpl, known ? length : unknown_length, transfer, !std::isnan(length)});
  }
}

std::vector<Candidate> candidates_of(Context& context, starpu_task* task) {
  const Registered* codelet = find_registered(task->cl);
  std::shared_ptr<const Planned> planned;
  if (codelet && !block_of(task)) planned = plan_of_whole(task, *codelet, *context.view());
  std::vector<Candidate> all;
  for (const int worker : context.workers) add_candidates(all, task, worker, planned.get());
  if (all.empty() && planned)
    for (const int worker : context.workers) add_candidates(all, task, worker, nullptr);
  return all;
}

// Earliest predicted finish; a pair that StarPU has no measurement of is tried first.  Mutex held.
const Candidate& choose(const Context& context, const std::vector<Candidate>& all, double now) {
  const bool unmeasured = std::any_of(all.begin(), all.end(), [](const Candidate& c) { return !c.measured; });
  const Candidate* best = nullptr;
  double best_end = 0;
  for (const Candidate& one : all) {
    if (unmeasured && one.measured) continue;
    const WorkerState& state = *context.worker[static_cast<std::size_t>(one.worker)];
    const double start = std::max(now, state.busy_until) + state.queued;
    const double end = unmeasured ? static_cast<double>(state.queue.entries().size())
                                  : std::max(start, now + one.transfer) + one.length;
    if (!best || end < best_end) best = &one, best_end = end;
  }
  return *best;
}

int push_ordinary(Context& context, starpu_task* task) {
  const auto all = candidates_of(context, task);
  if (all.empty()) return -ENODEV;
  Candidate best;
  {
    const RelaxedLock lock(context);
    best = choose(context, all, starpu_timing_now());
    context.worker[static_cast<std::size_t>(best.worker)]->queued += best.length;
  }
  task->predicted = best.length;
  task->predicted_transfer = best.transfer;
  starpu_task_set_implementation(task, best.nimpl);
  if (best.transfer > 0 && starpu_get_prefetch_flag())
    starpu_prefetch_task_input_for(task, static_cast<unsigned>(best.worker));
  starpu_push_task_end(task);
  {
    const RelaxedLock lock(context);
    context.worker[static_cast<std::size_t>(best.worker)]->queue.push({task, task->priority, context.next_order++});
    context.ordinary.fetch_add(1);
  }
  wake(context, best.worker);
  return 0;
}

// The best entry of the worker's own queue and those of its units, nullptr if all are empty.
TaskQueue* best_queue(WorkerState& state) {
  TaskQueue* best = state.queue.empty() ? nullptr : &state.queue;
  for (TaskQueue* queue : state.units) {
    if (queue->empty()) continue;
    // Blocks first among equals: the whole plan waits for the last of them.
    if (!best || queue->top().priority >= best->top().priority) best = queue;
  }
  return best;
}

// The worker of the same kind and memory with the most queued work that `worker` could run.
WorkerState* victim_of(Context& context, int worker) {
  const WorkerState& own = *context.worker[static_cast<std::size_t>(worker)];
  WorkerState* victim = nullptr;
  for (const int other : context.workers) {
    WorkerState& state = *context.worker[static_cast<std::size_t>(other)];
    if (other == worker || state.queue.empty() || state.type != own.type || state.node != own.node) continue;
    starpu_task* task = state.queue.top().task;
    if (!starpu_worker_can_execute_task(static_cast<unsigned>(worker), task, starpu_task_get_implementation(task)))
      continue;
    if (!victim || state.queued > victim->queued) victim = &state;
  }
  return victim;
}

bool nothing_queued(const Context& context, const WorkerState& state) {
  if (context.ordinary.load() > 0) return false;
  return std::all_of(state.units.begin(), state.units.end(),
                     [](const TaskQueue* queue) { return queue->size.load() == 0; });
}

// A GPU's worker also copies and must not sleep.
void nothing_to_do(const Context& context, WorkerState& state) {
  if (!workers_poll || state.type != STARPU_CPU_WORKER || !state.idle.nothing(starpu_timing_now())) return;
  starpu_worker_relax_on();
  state.idle.sleep([&] { return !nothing_queued(context, state); });
  starpu_worker_relax_off();
}

}  // namespace

int push(Context& context, starpu_task* task) {
  BlockRun* block = block_of(task);
  return block ? push_block(context, *block) : push_ordinary(context, task);
}

starpu_task* pop(Context& context, int worker) {
  WorkerState& state = *context.worker[static_cast<std::size_t>(worker)];
  if (nothing_queued(context, state)) {
    nothing_to_do(context, state);
    return nullptr;
  }
  state.idle.something();
  starpu_task* task = nullptr;
  BlockRun* block = nullptr;
  std::vector<BlockRun*> ahead;
  {
    const RelaxedLock lock(context);
    const double now = starpu_timing_now();
    WorkerState* owner = &state;
    TaskQueue* queue = best_queue(state);
    if (!queue && (owner = victim_of(context, worker))) queue = &owner->queue;
    if (!queue) return nullptr;
    task = queue->pop().task;
    block = block_of(task);
    double length = 0;
    if (block) {
      length = block->predicted * 1e6;
      // Only a unit's single worker may look at tasks that are still queued.
      if (block->place->workers.count() == 1) ahead = next_to_prefetch(*block, blocks_ahead);
    } else {
      length = task->predicted;
      owner->queued = std::max(0.0, owner->queued - length);
      context.ordinary.fetch_sub(1);
    }
    state.busy_until = std::max(now, state.busy_until) + length;
  }
  for (BlockRun* one : ahead)
    if (one != block) prefetch(*one);
  return task;
}

}  // namespace poas::edge

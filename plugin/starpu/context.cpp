// Queues and views of a scheduling context.
#include <algorithm>
#include <cstring>

#include "starpu/policy.hpp"

namespace poas::edge {
namespace {

// Of two tasks, whether the first is to run later.
bool later(const Queued& a, const Queued& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.order > b.order;
}

class Lock {
 public:
  explicit Lock(starpu_pthread_mutex_t& mutex) : mutex_(mutex) { STARPU_PTHREAD_MUTEX_LOCK(&mutex_); }
  ~Lock() { STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  starpu_pthread_mutex_t& mutex_;
};

}  // namespace

void TaskQueue::push(const Queued& entry) {
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), later);
  size.store(static_cast<unsigned>(heap_.size()));
}

Queued TaskQueue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Queued entry = heap_.back();
  heap_.pop_back();
  size.store(static_cast<unsigned>(heap_.size()));
  return entry;
}

Context::Context() : worker(STARPU_NMAXWORKERS), view_(std::make_shared<const View>()) {
  STARPU_PTHREAD_MUTEX_INIT(&mutex, NULL);
}

Context::~Context() { STARPU_PTHREAD_MUTEX_DESTROY(&mutex); }

void Context::rebuild() {
  models_version_ = planner().models()->version;
  const auto before = view_;
  view_ = std::make_shared<const View>(make_view(workers.data(), static_cast<unsigned>(workers.size())));
  // Workers look at their queues without the mutex, so queues change only when workers do.
  if (std::equal(before->units.begin(), before->units.end(), view_->units.begin(), view_->units.end(),
                 [](const UnitWorkers& a, const UnitWorkers& b) { return a.workers == b.workers; }))
    return;
  std::vector<Queued> blocks;
  for (auto& queue : unit)
    while (!queue->empty()) blocks.push_back(queue->pop());
  unit.clear();
  for (std::size_t u = 0; u < view_->units.size(); ++u) unit.push_back(std::make_unique<TaskQueue>());
  for (const int id : workers) {
    auto& state = worker[static_cast<std::size_t>(id)];
    if (!state) state = std::make_unique<WorkerState>();
    state->node = static_cast<int>(starpu_worker_get_memory_node(static_cast<unsigned>(id)));
    state->type = starpu_worker_get_type(id);
    state->units.clear();
    for (std::size_t u = 0; u < view_->units.size(); ++u)
      if (view_->units[u].workers.test(static_cast<std::size_t>(id))) state->units.push_back(unit[u].get());
  }
  for (const Queued& entry : blocks)
    if (TaskQueue* queue = queue_of(*block_of(entry.task))) queue->push(entry);
}

void Context::set_workers(const std::vector<int>& ids) {
  const Lock lock(mutex);
  workers = ids;
  rebuild();
}

std::shared_ptr<const View> Context::view() {
  const Lock lock(mutex);
  if (!view_->complete || models_version_ != planner().models()->version) rebuild();
  return view_;
}

TaskQueue* Context::queue_of(const BlockRun& block) {
  const auto planned = static_cast<std::size_t>(block.unit);
  if (planned < view_->units.size() && view_->units[planned].workers == block.place->workers)
    return unit[planned].get();
  for (std::size_t u = 0; u < view_->units.size(); ++u)
    if ((view_->units[u].workers & block.place->workers).any()) return unit[u].get();
  return nullptr;
}

Context* context_of(unsigned sched_ctx) {
  return static_cast<Context*>(starpu_sched_ctx_get_policy_data(sched_ctx));
}

bool runs_poas(unsigned sched_ctx) {
  const starpu_sched_policy* policy = starpu_sched_ctx_get_sched_policy(sched_ctx);
  return policy && policy->policy_name && std::strcmp(policy->policy_name, "poas") == 0;
}

std::shared_ptr<const View> view_of(unsigned sched_ctx) {
  if (runs_poas(sched_ctx)) return context_of(sched_ctx)->view();
  return std::make_shared<const View>(make_view(sched_ctx));
}

}  // namespace poas::edge

#include "starpu/hooks.hpp"

#include <algorithm>
#include <climits>

#include "starpu/errors.hpp"
#include "starpu/planner.hpp"
#include "starpu/policy.hpp"
#include "starpu/record.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

void init_sched(unsigned sched_ctx) {
  guard([&] {
    planner().reload();
    starpu_sched_ctx_set_policy_data(sched_ctx, new Context);
    if (!starpu_sched_ctx_min_priority_is_set(sched_ctx)) starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    if (!starpu_sched_ctx_max_priority_is_set(sched_ctx)) starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
  });
}

void deinit_sched(unsigned sched_ctx) {
  guard([&] {
    delete context_of(sched_ctx);
    starpu_sched_ctx_set_policy_data(sched_ctx, nullptr);
    planner().store_learned();
  });
}

void add_workers(unsigned sched_ctx, int* ids, unsigned count) {
  guard([&] {
    Context& context = *context_of(sched_ctx);
    std::vector<int> all = context.workers;
    for (unsigned i = 0; i < count; ++i)
      if (std::find(all.begin(), all.end(), ids[i]) == all.end()) all.push_back(ids[i]);
    context.set_workers(all);
  });
}

void remove_workers(unsigned sched_ctx, int* ids, unsigned count) {
  guard([&] {
    Context& context = *context_of(sched_ctx);
    std::vector<int> rest;
    for (const int worker : context.workers)
      if (std::find(ids, ids + count, worker) == ids + count) rest.push_back(worker);
    context.set_workers(rest);
  });
}

// Program order, submitting thread, no lock held; implicit dependencies of the task are recorded.
void submit_hook(starpu_task* task) {
  if (!task->cl || block_of(task)) return;
  const Registered* codelet = find_registered(task->cl);
  if (!codelet) return;
  undo_noop(task);
  if (task->where == static_cast<int>(STARPU_NOWHERE)) return;
  const char* name = codelet->divisible->name;
  const int fault = guard([&] {
    set_status(task, 0);
    const Decision decision = decide(task, *codelet, context_of(task->sched_ctx)->view());
    switch (decision.outcome) {
      case Outcome::refused:
        make_noop(task);
        set_status(task, decision.error);
        record_whole(name, decision);
        poas_report_error(decision.error, "%s refused, nothing is computed: %s", name, decision.reason.c_str());
        break;
      case Outcome::nothing: make_noop(task); break;
      case Outcome::split: split(task, *codelet, decision.planned); break;
      default: expect_whole(task, decision);
    }
  });
  if (fault) log_once(std::string(name) + " runs whole: " + poas_last_error());
}

int push_task(starpu_task* task) {
  return guard([&] { return push(*context_of(task->sched_ctx), task); });
}

starpu_task* pop_task(unsigned sched_ctx) {
  starpu_task* task = nullptr;
  guard([&] { task = pop(*context_of(sched_ctx), starpu_worker_get_id_check()); });
  return task;
}

// May run on another thread than the worker's for tasks with end dependencies, so the worker is noted here.
void pre_exec_hook(starpu_task* task, unsigned) {
  if (BlockRun* block = block_of(task)) {
    block->worker = starpu_worker_get_id();
    block->begin = starpu_timing_now();
  } else if (find_registered(task->cl)) {
    guard([&] { whole_begins(task); });
  }
}

void post_exec_hook(starpu_task* task, unsigned) {
  if (BlockRun* block = block_of(task))
    block->end = starpu_timing_now();
  else if (find_registered(task->cl))
    guard([&] { whole_ended(task); });
}

starpu_sched_policy make_policy() {
  starpu_sched_policy policy{};
  policy.init_sched = init_sched;
  policy.deinit_sched = deinit_sched;
  policy.add_workers = add_workers;
  policy.remove_workers = remove_workers;
  policy.submit_hook = submit_hook;
  policy.push_task = push_task;
  policy.pop_task = pop_task;
  policy.pre_exec_hook = pre_exec_hook;
  policy.post_exec_hook = post_exec_hook;
  policy.policy_name = "poas";
  policy.policy_description = "predict, optimize, adapt, schedule: divisible tasks run on every unit";
  policy.prefetches = 1;
  policy.worker_type = STARPU_WORKER_LIST;
  return policy;
}

}  // namespace

starpu_sched_policy* policy_struct() {
  static starpu_sched_policy policy = make_policy();
  return &policy;
}

}  // namespace poas::edge

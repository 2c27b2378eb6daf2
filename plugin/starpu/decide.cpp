// Whether a task that is being submitted may be split, and the plan for it.
#include <algorithm>
#include <cstdlib>

#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr const char* no_array = "an operand is neither matrix, vector, block, tensor nor variable";

// StarPU throttles submission below this many tasks; nested submissions could then wait for ever.
bool throttled() {
  static const bool limited = [] {
    const char* text = std::getenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS");
    return text && std::atoi(text) >= 0;
  }();
  return limited;
}

const char* why_handle_unfit(starpu_data_handle_t handle, starpu_data_access_mode mode) {
  if (mode & STARPU_COMMUTE) return "an operand has STARPU_COMMUTE access: another writer could slip in";
  if (mode & STARPU_REDUX) return "an operand has STARPU_REDUX access";
  if (mode & STARPU_SCRATCH) return "an operand is scratch";
  if (starpu_data_get_home_node(handle) != STARPU_MAIN_RAM)
    return "an operand has no home in host memory (registered with home node -1)";
  if (!starpu_data_get_sequential_consistency_flag(handle)) return "an operand is without sequential consistency";
  if (starpu_data_get_nb_children(handle) > 0) return "an operand is partitioned by the application";
  HostArray array;
  if (!host_array(handle, array)) return no_array;
  if (array.pointer == 0) return "an operand has no buffer in host memory";
  return nullptr;
}

bool written_twice(const starpu_task* task) {
  const unsigned n = STARPU_TASK_GET_NBUFFERS(task);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned j = 0; j < n; ++j)
      if (i != j && STARPU_TASK_GET_HANDLE(task, i) == STARPU_TASK_GET_HANDLE(task, j) &&
          (STARPU_TASK_GET_MODE(task, i) & STARPU_W))
        return true;
  return false;
}

// Why there cannot be a plan for the task at all.
const char* why_unplannable(const starpu_task* task, const PlanKey& key) {
  const auto& extent = key.operation.extent;
  if (std::count(extent, extent + key.codelet->divisible->ndims, 0u)) return "a dimension is empty";
  HostArray array;
  for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); ++i)
    if (!host_array(STARPU_TASK_GET_HANDLE(task, i), array)) return no_array;
  return nullptr;
}

Decision refused(int error, const PlanKey& key) {
  Decision decision;
  decision.outcome = Outcome::refused;
  decision.error = error;
  decision.reason = key.operation.error[0] ? key.operation.error : "the operands or the arguments are wrong";
  return decision;
}

}  // namespace

// The cases are those where blocks could be told from the whole task, or where StarPU's public calls do not
// allow it.
const char* why_unfit(const starpu_task* task) {
  if (task->regenerate) return "the task regenerates itself";
  if (!task->sequential_consistency || task->handles_sequential_consistency)
    return "the task is without sequential consistency";
  if (task->bundle) return "the task is in a bundle";
  if (task->transaction) return "the task is in a transaction";
  if (task->execute_on_a_specific_worker || task->workerids_len > 0) return "the task is bound to workers";
  if (throttled()) return "STARPU_LIMIT_MAX_SUBMITTED_TASKS is set: nested submissions could block";
  if (written_twice(task)) return "a handle is written and used twice";
  for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); ++i)
    if (const char* why = why_handle_unfit(STARPU_TASK_GET_HANDLE(task, i), STARPU_TASK_GET_MODE(task, i)))
      return why;
  if (task->where >= 0 && static_cast<std::uint32_t>(task->where) != task->cl->where)
    return "the task is limited to some kinds of workers (where)";
  return nullptr;
}

std::shared_ptr<const Planned> plan_of(const starpu_task* task, const PlanKey& key,
                                       const std::shared_ptr<const View>& view) {
  if (auto planned = planner().find(key)) return planned;
  return planner().make(key, make_operation(task, key, *view), view);
}

std::shared_ptr<const Planned> known_plan(const starpu_task* task, const Registered& codelet, const View& view) {
  PlanKey key;
  return describe(task, codelet, view, key) == 0 ? planner().find(key) : nullptr;
}

Decision decide(starpu_task* task, const Registered& codelet, const std::shared_ptr<const View>& view) {
  PlanKey key;
  if (const int answer = describe(task, codelet, *view, key)) {
    if (answer < 0) return refused(answer, key);
    Decision nothing;
    nothing.outcome = Outcome::nothing;
    return nothing;
  }
  Decision decision;
  decision.outcome = Outcome::whole;
  if (const char* why = why_unfit(task)) decision.reason = why;
  if (const char* why = why_unplannable(task, key)) {
    decision.reason = why;
    return decision;
  }
  planner().learn(key.codelet->divisible->name, static_cast<Type>(key.operation.type));
  decision.planned = plan_of(task, key, view);
  if (!decision.reason.empty()) return decision;
  decision.reason = decision.planned->plan.reason;
  if (decision.planned->plan.split) decision.outcome = Outcome::split;
  return decision;
}

}  // namespace poas::edge

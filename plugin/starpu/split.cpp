// The task T keeps its place among the implicit dependencies, but does nothing itself and ends only
// when its blocks have ended:
//
//   T (nowhere) --prologue--> gate -> S_in -> blocks -> S_out --callback--> end of T
//
// Blocks work on handles of their own over parts of T's host buffers.  S_in brings the operands home
// and opens these handles, S_out gathers them; both leave T's handles out of sequential consistency.
#include "starpu/split.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>

#include "starpu/errors.hpp"
#include "starpu/learning.hpp"
#include "starpu/policy.hpp"
#include "starpu/record.hpp"

namespace poas::edge {
namespace {

constexpr int most_handles = 1 << 16;
int home_nodes[most_handles];  // all STARPU_MAIN_RAM

std::atomic<std::uint64_t> next_order{1};

starpu_codelet make_switch_codelet() {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.where = STARPU_NOWHERE;
  codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
  codelet.flags = STARPU_CODELET_NOPLANS;
  codelet.specific_nodes = 1;
  codelet.dyn_nodes = home_nodes;
  codelet.name = "poas_switch";
  return codelet;
}

starpu_codelet switch_codelet = make_switch_codelet();

using PartKey = std::pair<std::size_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

// Handles on parts of the operands, each part once.
class Parts {
 public:
  explicit Parts(SplitRun& run) : run_(run) {}

  starpu_data_handle_t handle(std::size_t operand, const Box& box) {
    const auto part = footprint(run_.planned->operation.operands[operand], box);
    PartKey key{operand, {}};
    for (const Range& range : part) key.second.emplace_back(range.begin, range.end);
    auto& slot = handles_[key];
    if (!slot) {
      slot = register_part(run_.arrays[operand], part);
      order_.push_back({slot, (run_.modes[operand] & STARPU_W) != 0});
    }
    return slot;
  }

  struct Part {
    starpu_data_handle_t handle;
    bool written;
  };
  const std::vector<Part>& all() const { return order_; }

 private:
  SplitRun& run_;
  std::map<PartKey, starpu_data_handle_t> handles_;
  std::vector<Part> order_;
};

struct SwitchAccess {
  starpu_data_handle_t handle;
  starpu_data_access_mode mode;
  unsigned char consistent;
};

starpu_task* make_switch_task(SplitRun& run, const std::vector<SwitchAccess>& accesses) {
  starpu_task* task = starpu_task_create();
  const std::size_t n = accesses.size();
  task->cl = &switch_codelet;
  task->nbuffers = static_cast<int>(n);
  task->dyn_handles = static_cast<starpu_data_handle_t*>(std::malloc(n * sizeof(starpu_data_handle_t)));
  task->dyn_modes = static_cast<starpu_data_access_mode*>(std::malloc(n * sizeof(starpu_data_access_mode)));
  // StarPU reads the flags again when the task ends.
  auto& consistent = run.consistency.emplace_back();
  for (std::size_t i = 0; i < n; ++i) {
    task->dyn_handles[i] = accesses[i].handle;
    task->dyn_modes[i] = accesses[i].mode;
    consistent.push_back(accesses[i].consistent);
  }
  task->handles_sequential_consistency = consistent.data();
  task->sched_ctx = run.task->sched_ctx;
  task->priority = run.task->priority;
  return task;
}

// T's own handles, each once with the sum of its modes.
std::vector<SwitchAccess> own_accesses(const SplitRun& run, int write_mode) {
  std::vector<SwitchAccess> accesses;
  for (std::size_t i = 0; i < run.modes.size(); ++i) {
    starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(run.task, i);
    const bool writes = run.modes[i] & STARPU_W;
    const int mode = writes ? (write_mode ? write_mode : run.modes[i]) : STARPU_R;
    auto it = std::find_if(accesses.begin(), accesses.end(), [&](const SwitchAccess& a) { return a.handle == handle; });
    if (it == accesses.end())
      accesses.push_back({handle, static_cast<starpu_data_access_mode>(mode), 0});
    else
      it->mode = static_cast<starpu_data_access_mode>(it->mode | mode);
  }
  return accesses;
}

void submit(starpu_task* task) {
  if (const int error = starpu_task_submit(task)) {
    poas_report_error(error, "a block could not be submitted (%d): no worker of its unit is left", error);
    throw Error(Errc::no_unit, "a block could not be submitted: no worker of its unit is left");
  }
}

void submit_switch_in(SplitRun& run, const Parts& parts) {
  auto accesses = own_accesses(run, 0);
  for (const auto& part : parts.all()) accesses.push_back({part.handle, STARPU_W, 1});
  starpu_task* task = make_switch_task(run, accesses);
  if (run.gate) starpu_task_declare_deps_array(task, 1, &run.gate);
  submit(task);
}

void gathered(void* argument);

void submit_switch_out(SplitRun& run, const Parts& parts) {
  auto accesses = own_accesses(run, STARPU_W);
  for (const auto& part : parts.all())
    accesses.push_back({part.handle, part.written ? STARPU_RW : STARPU_R, 1});
  starpu_task* task = make_switch_task(run, accesses);
  task->callback_func = gathered;
  task->callback_arg = &run;
  submit(task);
}

// Submits run.launched between two switch tasks; gathered() runs when their results are home.
void launch(SplitRun& run) {
  Parts parts(run);
  std::vector<starpu_task*> tasks;
  std::vector<std::vector<starpu_data_handle_t>> handles;
  std::fill(run.unit_waiting.begin(), run.unit_waiting.end(), 0u);
  for (BlockRun* block : run.launched) {
    std::vector<starpu_data_handle_t> own;
    for (std::size_t i = 0; i < run.modes.size(); ++i) own.push_back(parts.handle(i, block->box));
    tasks.push_back(make_block_task(*run.codelet, *block, own, run.modes));
    handles.push_back(std::move(own));
    starpu_task* task = tasks.back();
    task->cl_arg = run.task->cl_arg;
    task->cl_arg_size = run.task->cl_arg_size;
    task->sched_ctx = run.task->sched_ctx;
    task->priority = run.task->priority;
    block->order = next_order.fetch_add(1);
    ++run.unit_waiting[static_cast<std::size_t>(block->unit)];
  }
  submit_switch_in(run, parts);
  for (std::size_t b = 0; b < tasks.size(); ++b) {
    const bool away = run.launched[b]->place->node != STARPU_MAIN_RAM;
    submit(tasks[b]);
    for (std::size_t i = 0; away && i < run.modes.size(); ++i)
      if (run.modes[i] & STARPU_W) starpu_data_wont_use(handles[b][i]);  // go home early
  }
  submit_switch_out(run, parts);
  for (const auto& part : parts.all()) starpu_data_unregister_submit(part.handle);
}

// Gives a failed block to the fastest usable unit that has not failed on it; false if there is none.
bool move_to_other_unit(const SplitRun& run, BlockRun& block) {
  const CostTable& costs = run.planned->plan.costs;
  block.failed_units.push_back(block.unit);
  int best = -1;
  double best_seconds = 0;
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    const auto& failed = block.failed_units;
    if (!costs.units[u].usable() || std::count(failed.begin(), failed.end(), static_cast<int>(u))) continue;
    const double seconds = evaluate(costs.units[u].model, run.planned->operation, block.box);
    if (best < 0 || seconds < best_seconds) best = static_cast<int>(u), best_seconds = seconds;
  }
  if (best < 0) return false;
  const auto u = static_cast<std::size_t>(best);
  block.unit = best;
  block.nimpl =
      run.planned->operation.implementations[static_cast<std::size_t>(costs.units[u].implementation)].nimpl;
  block.place = &run.planned->view->units[u];
  block.predicted = best_seconds;
  block.error = 0;
  block.released = block.prefetched = false;
  block.begin = block.end = 0;
  return true;
}

void finish(SplitRun* run, int status) {
  starpu_task* task = run->task;
  task->where = run->user_where;  // the application may keep the task and submit it again
  set_status(task, status);
  guard([&] { observe(*run); });
  record_split(*run, status);
  delete run;
  starpu_task_end_dep_release(task);  // the task may be gone from here on
}

// All results are in host memory: repeat the blocks that failed elsewhere, or end T.
void gathered(void* argument) {
  auto* run = static_cast<SplitRun*>(argument);
  const int fault = guard([&] {
    std::vector<BlockRun*> again;
    int status = 0;
    for (BlockRun* block : run->launched) {
      if (block->error == 0) continue;
      if (move_to_other_unit(*run, *block)) {
        again.push_back(block);
      } else {
        status = poas_report_error(-EIO, "a block of %s failed on every unit: %s",
                                   run->planned->operation.name.c_str(), block->why.c_str());
      }
    }
    if (status == 0 && !again.empty()) {
      run->launched = again;
      run->gate = nullptr;
      launch(*run);
    } else {
      finish(run, status);
    }
    return 0;
  });
  if (fault) finish(run, fault);
}

// T is ready: its user's prologue first, then the blocks may start.
void open_gate(void* argument) {
  auto* run = static_cast<SplitRun*>(argument);
  starpu_task* task = run->task;
  task->prologue_callback_func = run->user_prologue;
  task->prologue_callback_arg = run->user_prologue_argument;
  task->prologue_callback_arg_free = run->user_prologue_free;
  if (run->user_prologue) run->user_prologue(run->user_prologue_argument);
  run->begin = starpu_timing_now();
  starpu_task_submit(run->gate);
}

std::unique_ptr<SplitRun> make_run(starpu_task* task, const Registered& codelet,
                                   const std::shared_ptr<const Planned>& planned) {
  auto run = std::make_unique<SplitRun>();
  run->planned = planned;
  run->codelet = &codelet;
  run->task = task;
  run->user_where = task->where;
  run->unit_waiting.resize(planned->view->units.size());
  for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); ++i) {
    run->modes.push_back(STARPU_TASK_GET_MODE(task, i));
    host_array(STARPU_TASK_GET_HANDLE(task, i), run->arrays.emplace_back());
  }
  return run;
}

void add_block(SplitRun& run, const Box& box, int unit, double seconds) {
  const auto u = static_cast<std::size_t>(unit);
  const auto& planned = *run.planned;
  auto own = std::make_unique<BlockRun>();
  own->run = &run;
  own->box = box;
  own->unit = unit;
  own->nimpl =
      planned.operation.implementations[static_cast<std::size_t>(planned.plan.costs.units[u].implementation)].nimpl;
  own->place = &planned.view->units[u];
  own->predicted = seconds;
  run.launched.push_back(own.get());
  run.blocks.push_back(std::move(own));
}

std::mutex status_mutex;
std::unordered_map<const starpu_task*, int> statuses;  // only of tasks that failed
std::unordered_map<const starpu_task*, int> noops;     // what `where` was

}  // namespace

int unit_of(const Planned& planned, int worker, unsigned nimpl) {
  for (std::size_t u = 0; u < planned.whole.size(); ++u)
    if (planned.whole[u].seconds > 0 && planned.whole[u].nimpl == nimpl &&
        planned.view->units[u].workers.test(static_cast<std::size_t>(worker)))
      return static_cast<int>(u);
  return -1;
}

void set_status(const starpu_task* task, int status) {
  std::lock_guard lock(status_mutex);
  if (status == 0)
    statuses.erase(task);
  else
    statuses[task] = status;
}

void make_noop(starpu_task* task) {
  std::lock_guard lock(status_mutex);
  noops[task] = task->where;
  task->where = STARPU_NOWHERE;
}

void undo_noop(starpu_task* task) {
  std::lock_guard lock(status_mutex);
  const auto it = noops.find(task);
  if (it == noops.end()) return;
  if (task->where == static_cast<int>(STARPU_NOWHERE)) task->where = it->second;
  noops.erase(it);
}

bool redo_elsewhere(starpu_task* task) {
  const Registered* codelet = find_registered(task->cl);
  const int worker = starpu_worker_get_id();
  if (!codelet || worker < 0 || why_unfit(task)) return false;
  const auto planned = plan_of_whole(task, *codelet, *view_of(task->sched_ctx));
  const int unit = planned ? unit_of(*planned, worker, starpu_task_get_implementation(task)) : -1;
  if (unit < 0) return false;
  auto run = make_run(task, *codelet, planned);
  add_block(*run, whole_box(planned->operation), unit, 0);
  if (!move_to_other_unit(*run, *run->launched.front())) return false;
  run->begin = starpu_timing_now();
  starpu_task_end_dep_add(task, 1);
  launch(*run.release());  // waits for the operands that the task still holds; finish() deletes it
  return true;
}

void split(starpu_task* task, const Registered& codelet, const std::shared_ptr<const Planned>& planned) {
  auto run = make_run(task, codelet, planned);
  for (const Block& block : planned->plan.tasks.blocks) add_block(*run, block.box, block.unit, block.seconds);
  run->gate = starpu_task_create();
  run->gate->name = "poas_gate";
  run->user_prologue = task->prologue_callback_func;
  run->user_prologue_argument = task->prologue_callback_arg;
  run->user_prologue_free = task->prologue_callback_arg_free;
  launch(*run);
  task->where = STARPU_NOWHERE;
  starpu_task_end_dep_add(task, 1);
  task->prologue_callback_func = open_gate;
  task->prologue_callback_arg = run.release();  // finish() deletes it
  task->prologue_callback_arg_free = 0;
}

}  // namespace poas::edge

extern "C" int poas_task_status(const starpu_task* task) {
  using namespace poas::edge;
  std::lock_guard lock(status_mutex);
  const auto it = statuses.find(task);
  return it == statuses.end() ? 0 : it->second;
}

#include "starpu/blocks.hpp"

#include <algorithm>

#include "starpu/errors.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

// Starts copies of the results to host memory.  What starpu_data_wont_use() asks for waits until nothing else is copied,
// and goes one by one.
void send_home(const BlockRun& block) {
  for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(block.task); ++i)
    if (STARPU_TASK_GET_MODE(block.task, i) & STARPU_W)
      starpu_data_fetch_on_node(STARPU_TASK_GET_HANDLE(block.task, i), STARPU_MAIN_RAM, 1);
}

// Before StarPU tells those that depend on the block that it has ended: the last of them frees it.
void block_ended(void* argument) {
  auto* block = static_cast<BlockRun*>(argument);
  if (block->end == 0) block->end = starpu_timing_now();  // no hook of ours under other policies
  if (block->run && block->error == 0 && block->place->node != STARPU_MAIN_RAM) send_home(*block);
}

// Marks tasks that are blocks.  StarPU calls it when the block may be gone already.
void block_mark(void*) {}

}  // namespace

BlockRun* block_of(const starpu_task* task) {
  return task->callback_func == block_mark ? static_cast<BlockRun*>(task->callback_arg) : nullptr;
}

int block_can_execute(unsigned worker, starpu_task* task, unsigned nimpl) {
  const BlockRun* block = block_of(task);
  if (!block || nimpl != block->nimpl || !block->place->workers.test(worker)) return 0;
  const Registered* codelet = find_registered(task->cl);
  const auto users = codelet->codelet->can_execute;
  return !users || users(worker, task, nimpl);
}

starpu_task* make_block_task(const Registered& codelet, BlockRun& block,
                             const std::vector<starpu_data_handle_t>& handles,
                             const std::vector<starpu_data_access_mode>& modes) {
  starpu_task* task = starpu_task_create();
  task->cl = const_cast<starpu_codelet*>(&codelet.block);
  task->name = codelet.divisible->name;
  task->nbuffers = static_cast<int>(handles.size());
  // POAS_MAX_OPERANDS fit into the task itself, where cost functions of users look for them.
  static_assert(POAS_MAX_OPERANDS <= STARPU_NMAXBUFS);
  std::copy(handles.begin(), handles.end(), task->handles);
  std::copy(modes.begin(), modes.end(), task->modes);
  task->callback_func = block_mark;
  task->callback_arg = &block;
  task->epilogue_callback_func = block_ended;
  task->epilogue_callback_arg = &block;
  block.task = task;
  return task;
}

}  // namespace poas::edge

extern "C" void poas_block_failed(int error, const char* why) {
  using namespace poas::edge;
  guard([&] {
    starpu_task* task = starpu_task_get_current();
    if (!task) return;
    const int status = error < 0 ? error : -EIO;
    if (BlockRun* block = block_of(task)) {
      block->error = status;
      block->why = why ? why : "";
    } else if (!redo_elsewhere(task)) {
      set_status(task, status);
      poas_report_error(status, "%s failed: %s", task->cl ? task->cl->name : "a task", why ? why : "");
    }
  });
}

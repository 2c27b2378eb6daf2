// Replaces a task by blocks: transparent from the submit hook, or from poas_task_submit().
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "starpu/blocks.hpp"

namespace poas::edge {

// One task that runs as blocks.  Lives from its submission until its end.
struct SplitRun {
  std::shared_ptr<const Planned> planned;
  const Registered* codelet = nullptr;
  starpu_task* task = nullptr;
  int user_where = 0;
  void (*user_prologue)(void*) = nullptr;
  void* user_prologue_argument = nullptr;
  unsigned user_prologue_free = 0;
  starpu_task* gate = nullptr;
  std::vector<HostArray> arrays;                     // one per operand
  std::vector<starpu_data_access_mode> modes;
  std::vector<std::unique_ptr<BlockRun>> blocks;     // all, in plan order
  std::vector<BlockRun*> launched;                   // those of the present attempt
  std::list<std::vector<unsigned char>> consistency; // flags of the switch tasks
  std::vector<unsigned> unit_waiting;                // blocks of a unit not yet ready
  double begin = 0;                                  // us
};

enum class Outcome { ordinary, whole, split, refused, nothing };

struct Decision {
  Outcome outcome = Outcome::ordinary;
  std::shared_ptr<const Planned> planned;   // for whole and split
  std::string reason;
  int error = 0;
};
// Decides about a task that is being submitted, without changing it.
Decision decide(starpu_task* task, const Registered& codelet, const std::shared_ptr<const View>& view);
// The plan of a described task, from the cache or made now.  Throws Error(invalid).
std::shared_ptr<const Planned> plan_of(const starpu_task* task, const PlanKey& key,
                                       const std::shared_ptr<const View>& view);
// The plan of a task that was decided about before, nullptr if it is not cached.  No planning.
std::shared_ptr<const Planned> known_plan(const starpu_task* task, const Registered& codelet, const View& view);
// Submits everything that stands for the task and leaves the task itself ready to be submitted.
void split(starpu_task* task, const Registered& codelet, const std::shared_ptr<const Planned>& planned);
// Makes the task do nothing, until it is submitted again.
void make_noop(starpu_task* task);
// A task that the application kept and submits again gets its place back.
void undo_noop(starpu_task* task);
// Computes a whole task that failed on the present worker again, as one block on another unit; the task
// ends when that has ended.  False if it cannot be done.
bool redo_elsewhere(starpu_task* task);
// Why a task must run whole, nullptr if it may be split.
const char* why_unfit(const starpu_task* task);

// The usable unit that the worker belongs to and whose implementation the task has, -1 if none.
int unit_of(const Planned& planned, int worker, unsigned nimpl);
void set_status(const starpu_task* task, int status);

}  // namespace poas::edge

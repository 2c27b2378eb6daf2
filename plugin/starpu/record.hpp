// What became of divisible tasks: POAS_RECORD, POAS_EXPLAIN, last_plan().
#pragma once

#include <string>

#include "starpu/split.hpp"

namespace poas::edge {

// The blocks have ended; fills the plan's measured times.
void record_split(const SplitRun& run, int status);
// The task was refused, or runs whole under another policy, whose end is not seen.
void record_whole(const std::string& operation, const Decision& decision);
// The task will run whole under poas; recorded when it has ended.
void expect_whole(const starpu_task* task, const Decision& decision);
// The plan that it was expected with, which outlives the cache's; else the cached one, nullptr if there is none.
std::shared_ptr<const Planned> plan_of_whole(const starpu_task* task, const Registered& codelet, const View& view);
void whole_begins(const starpu_task* task);
void whole_ended(const starpu_task* task);

}  // namespace poas::edge

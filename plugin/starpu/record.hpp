// What became of divisible tasks: POAS_RECORD, POAS_EXPLAIN, last_plan().
#pragma once

#include <string>

#include "starpu/split.hpp"

namespace poas::edge {

// The blocks have ended; fills the plan's measured times.
void record_split(const SplitRun& run, int status);
// The task runs whole or was refused.
void record_whole(const std::string& operation, const Decision& decision);

}  // namespace poas::edge

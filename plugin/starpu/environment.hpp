// What the user set in the environment.
#pragma once

#include <string>
#include <vector>

#include "poas/plan.hpp"

namespace poas::edge {

// The request; a variable that is not understood keeps its default and adds a line to `faults`.
Request read_environment(std::vector<std::string>& faults);
// POAS_RECORD, nullptr if not set.
const char* record_file();
// POAS_EXPLAIN: 0 nothing, 1 the plan of each divisible task on stderr, 2 also those that run whole.
int explain_level();

}  // namespace poas::edge

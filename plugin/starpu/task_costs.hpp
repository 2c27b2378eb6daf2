// What a divided task takes beyond its blocks.
#pragma once

#include <vector>

#include "starpu/measure.hpp"

namespace poas::edge {

// Runs divided tasks of a few sizes and numbers of blocks on each device alone and sets what submitting a block costs and
// the start latency of each device such that plans tell the times from submission until the results are home.  Devices
// that none of the targets uses stay as they are.
void measure_task_costs(const std::vector<Target>& targets, const Models& models, Machine& machine);

}  // namespace poas::edge

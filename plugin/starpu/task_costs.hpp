// What a divided task takes beyond its blocks.
#pragma once

#include <vector>

#include "starpu/measure.hpp"

namespace poas::edge {

// Runs divided tasks of a few sizes on each device alone and sets latency and start_latency of the devices such that their
// plans tell the times from submission until the results are home.  Devices that none of the targets uses stay as they are.
void measure_task_costs(const std::vector<Target>& targets, const Models& models, Machine& machine);

}  // namespace poas::edge

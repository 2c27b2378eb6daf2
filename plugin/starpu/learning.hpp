// What blocks and whole tasks took, on its way from the workers to the planner.
#pragma once

#include "starpu/split.hpp"

namespace poas::edge {

// All blocks of the task have ended.  Any thread; takes no lock.
void observe(const SplitRun& run);
// A task ran whole on one worker of the unit.  Any thread; takes no lock.
void observe(const Planned& planned, int unit, double seconds);

}  // namespace poas::edge

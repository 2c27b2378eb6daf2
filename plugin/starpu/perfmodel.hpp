// The time models as StarPU's performance models: its own policies and SimGrid see the times that plans
// rest on.
#pragma once

#include "poas/poas.h"

namespace poas::edge {

// What StarPU is told of an implementation that is below the class that was asked for, or that the device
// refuses: a day, in us.  StarPU adds lengths up and subtracts them again, so infinity would stay.
constexpr double unusable_us = 86400e6;

// The model of a codelet's whole tasks and blocks; `name` must outlive it.  A block takes what was planned
// for it; a whole task what the model of the implementation says for the device.  NaN, "not known" to
// StarPU, for a task that computes nothing, an implementation that nobody described, and a block that
// calibration measures.
starpu_perfmodel learned_perfmodel(const char* name);

}  // namespace poas::edge

// The hooks that StarPU calls; each is noexcept and keeps StarPU's rules for its thread.
#pragma once

#include "poas/poas.h"

namespace poas::edge {

starpu_sched_policy* policy_struct();

}  // namespace poas::edge

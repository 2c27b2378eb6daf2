// The codelets declared divisible.
#pragma once

#include <string>
#include <vector>

#include "poas/poas.h"

namespace poas::edge {

struct Registered {
  starpu_codelet* codelet = nullptr;
  const poas_divisible* divisible = nullptr;
  starpu_codelet block{};  // runs the blocks: same functions, placed by can_execute
  starpu_perfmodel learned{};
};

// The entry of a codelet, nullptr if it is not divisible.  Lock-free, a few ns.
const Registered* find_registered(const starpu_codelet* codelet);

}  // namespace poas::edge

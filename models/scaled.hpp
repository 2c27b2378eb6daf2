// A model of the same shape for a unit that is slower or faster.
#pragma once

#include "poas/models.hpp"

namespace poas {

// Every time is `factor` times as long.
inline TimeModel scaled(TimeModel model, double factor) {
  model.fixed *= factor;
  model.seconds_per_flop *= factor;
  model.seconds_per_byte *= factor;
  return model;
}

}  // namespace poas

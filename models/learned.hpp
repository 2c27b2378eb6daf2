// Whether a factor that was learned tells of a model.
#pragma once

#include "poas/models.hpp"

namespace poas {

// Trees are hundreds of kilobytes; the coefficients below them tell two models apart.
inline TimeModel without_forest(TimeModel model) {
  model.forest.reset();
  return model;
}

inline bool tells_of(const Learned& learned, const TimeModel& model) { return without_forest(model) == learned.model; }

}  // namespace poas

// Takes the place of the meters in simulation, where time is not that of the processors that compute it.
#include "starpu/power.hpp"

namespace poas::edge {

PowerMeters::PowerMeters(View&) {}

std::optional<Power> PowerMeters::measure(const Target&, const Blocks&) { return std::nullopt; }

}  // namespace poas::edge

// Index points that a unit computes for a block when it works in whole tiles and whole waves.
#pragma once

#include "poas/operation.hpp"

namespace poas {

// Product of the extents rounded up to tiles, times the idle places of the last wave: the number of
// tiles of the tiled dimensions (tile > 1) is rounded up to a multiple of `parallel`.
double padded_points(const Extents& tile, unsigned parallel, const Extents& extents, int ndims);

}  // namespace poas

// Random shapes of blocks, as they are measured to fit and to judge models.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "poas/operation.hpp"

namespace poas {

// Log-uniform extents from 64 to 16384 (2^28 if there is one dimension only); every third shape as it falls, the
// others rounded down to multiples of 8.  The same seed gives the same shapes.  Not thread safe.
class RandomShapes {
 public:
  RandomShapes(std::uint64_t seed, int ndims) : random_(seed), ndims_(ndims) {}

  Extents next() {
    const bool ragged = count_++ % 3 == 0;
    Extents extents;
    extents.fill(1);
    std::generate_n(extents.begin(), ndims_, [&] { return extent(ragged); });
    return extents;
  }

 private:
  std::uint64_t extent(bool ragged) {
    constexpr double least = 64;
    const double most = ndims_ == 1 ? 0x1p28 : 16384;
    const double fraction = static_cast<double>(random_() >> 11) * 0x1p-53;
    const auto whole = static_cast<std::uint64_t>(std::lround(least * std::exp(fraction * std::log(most / least))));
    return ragged ? whole : whole / 8 * 8;
  }

  std::mt19937_64 random_;
  int ndims_;
  unsigned count_ = 0;
};

}  // namespace poas

// Design of the experiment that calibration makes: which blocks are measured, and which of them only judge the model.
#pragma once

#include <cstdint>
#include <vector>

#include "poas/models.hpp"

namespace poas {

// Points that fill a unit cube evenly, whenever one stops: Halton's sequence (Numerische Mathematik 2, 1960), shifted
// by a random vector modulo 1 (Cranley and Patterson, SIAM J. Numerical Analysis 13, 1976), which the seed decides.
class SpreadPoints {
 public:
  static constexpr int most_dims = 10;
  explicit SpreadPoints(std::uint64_t seed);
  // In [0, 1); `dim` below most_dims.
  double coordinate(std::uint64_t index, int dim) const;

 private:
  double shift_[most_dims];
};

// Extents whose product is about `points`: from tall to flat, the longest up to 64 times the shortest; two thirds of
// them multiples of 32, the others ragged.  Every extent lies within [least, most]; those from `ndims` on are 1.
Extents spread_extents(const SpreadPoints& spread, std::uint64_t index, int ndims, double points, std::uint64_t least,
                       std::uint64_t most);
// Where between short and long blocks this one lies: in [0, 1).
double spread_length(const SpreadPoints& spread, std::uint64_t index);

// The samples that take no part in a fit, true for about a fifth: the middle one of every five in the order of their
// times.  None of fewer than 5.
std::vector<bool> held_out(const std::vector<Sample>& samples);

}  // namespace poas

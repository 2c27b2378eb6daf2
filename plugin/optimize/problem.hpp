// The division of one dimension among units as numbers alone: what a solver sees.
#pragma once

#include <vector>

#include "poas/operation.hpp"

namespace poas::detail {

// fixed, if used at all, and slope for each item.
struct Line {
  Seconds fixed = 0, slope = 0;
};

struct UnitTerms {
  int device = -1;          // index into DivisionProblem::devices, -1: host memory
  Seconds fixed = 0;        // before and between its items, once if used
  Seconds slope = 0;        // per item, all its workers together
  Seconds least_slope = 0;  // no block of the unit is cheaper per item than this
  double least = 0;         // items, if used
  bool forced = false;      // must be used
};

struct DeviceTerms {
  Seconds lead = 0;         // from the start until its first block can start
  Line tail;                // from the end of its last block until its result is home
  Line in, out;             // seconds on its own links
  Line host;                // seconds on the link that all devices share
  double most = 0;          // items that its memory holds
};

// Minimise the makespan T over items w_u, used or not: sum of w_u = items, and within T
//   host unit:  fixed + slope w
//   device:     lead + tail + sum of its units' (fixed + slope w)      (its units take turns)
//   links:      in + tail; out; sum of host over devices
// where each fixed part counts only for what is used, w_u is 0 or at least `least`, and the items of
// a device are at most `most`.
struct DivisionProblem {
  double items = 0;
  std::vector<UnitTerms> units;
  std::vector<DeviceTerms> devices;
};

// Throws Error(invalid) naming the field: every number must be finite, not negative and below 1e18
// (times) or 2^53 (items); there must be items and units.
void validate(const DivisionProblem& problem);

// Time of the device's worker beside its units' own, and of its incoming link.
Line compute_line(const DeviceTerms& device);
Line in_line(const DeviceTerms& device);

// Seconds that these items need; a unit with 0 items is not used.
Seconds makespan_of(const DivisionProblem& problem, const std::vector<double>& items);

// Whether these items sum to the problem's, keep the least shares, the forcing and the memories, up to
// rounding.
bool allowed(const DivisionProblem& problem, const std::vector<double>& items);

// The same problem without anything fixed: its optimum is a lower bound of every division.
DivisionProblem relaxation(const DivisionProblem& problem);

// Takes the forcing from the slowest units until the rest fits into the items and the memories.
void relax_forcing(DivisionProblem& problem);

}  // namespace poas::detail

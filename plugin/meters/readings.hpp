// From readings of a meter to watts.
#pragma once

#include <optional>
#include <vector>

#include "poas/machine.hpp"

namespace poas {

// Cuts a row of readings into parts and takes the power of each.  A part begins and ends where the counter
// has just moved, so its steps, up to 100 ms long, do not count as an error.
class Readings {
 public:
  static constexpr Seconds part_seconds = 0.3;
  static constexpr std::size_t parts = 3;

  // In order of time: the meter, and for how long workers have computed until now, all of them added up.
  void add(Seconds now, Joules joules, Seconds busy);
  // Enough parts are there.  The first one warms up and does not count.
  bool enough() const { return marks_.size() > parts + 1; }
  // The median over the parts of what was drawn above idle while a worker computed, and half their spread
  // as its error; nullopt before there is enough.  Not below 0, where the error is 1.
  std::optional<Power> power(Watts idle) const;

 private:
  struct Mark {
    Seconds time;
    Joules joules;
    Seconds busy;
  };
  std::optional<Joules> last_;
  std::vector<Mark> marks_;
};

}  // namespace poas

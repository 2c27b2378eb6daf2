#include "meters/readings.hpp"

#include <algorithm>

#include "models/median.hpp"

namespace poas {

void Readings::add(Seconds now, Joules joules, Seconds busy) {
  const bool moved = last_ && joules != *last_;
  last_ = joules;
  if (moved && (marks_.empty() || now - marks_.back().time >= part_seconds))
    marks_.push_back({now, joules, busy});
}

std::optional<Power> Readings::power(Watts idle) const {
  if (!enough()) return std::nullopt;
  std::vector<double> watts;
  for (std::size_t i = 2; i < marks_.size(); ++i) {
    const Mark &begin = marks_[i - 1], &end = marks_[i];
    const Seconds busy = end.busy - begin.busy;
    if (busy > 0) watts.push_back((end.joules - begin.joules - idle * (end.time - begin.time)) / busy);
  }
  if (watts.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(watts.begin(), watts.end());
  const double spread = (*most - *least) / 2, middle = median(watts);
  return middle > 0 ? Power{middle, spread / middle, true} : Power{0, 1, true};
}

}  // namespace poas

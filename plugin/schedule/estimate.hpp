// How long a part takes when cut by a grid, without listing its blocks: they have few different sizes.
#pragma once

#include <array>

#include "schedule/grid.hpp"

namespace poas::detail {

struct Pieces {
  std::uint64_t size = 0, count = 0;
};

// At most three sizes; the first piece has the front's, the last piece the back's.
struct PieceSizes {
  std::array<Pieces, 3> pieces{};
  std::size_t count = 0;
  const Pieces* begin() const { return pieces.data(); }
  const Pieces* end() const { return pieces.data() + count; }
  const Pieces& front() const { return pieces[0]; }
  const Pieces& back() const { return pieces[count - 1]; }
};

// The sizes that cut() gives `items`.
PieceSizes piece_sizes(std::uint64_t items, std::uint64_t count, std::uint64_t grain,
                                std::uint64_t least);

// The part with all its blocks: the whole of the other dimensions.
Box part_box(const Job& job);

// The machine as one device sees it when `links` devices share the host's links.
Machine alone(const Machine& machine, int unit, unsigned links);

// On a device that alone() gave: no order of copies and blocks can be faster than this.
class DeviceEstimate {
 public:
  DeviceEstimate(const Job& job, const Machine& device);
  Seconds operator()(const Grid& grid) const;

 private:
  Seconds in_seconds(const Box& box) const;
  Seconds out_seconds(const Box& box) const;

  const Job& job_;
  Box box_;
  Seconds overhead_, all_in_ = 0, all_out_ = 0, both_ = 0;
  double in_rate_ = 0, out_rate_ = 0;
};

// On a host unit: its workers take turns, each turn as long as the largest block.
Seconds host_estimate(const Job& job, const Grid& grid, unsigned workers, const Machine& machine);

}  // namespace poas::detail

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

// The machine as one device sees it that gets this share of the host's common link.
Machine alone(const Machine& machine, int unit, double link_share);

// On a device that alone() gave, which must outlive it: no order of copies and blocks can be faster than this.
class DeviceEstimate {
 public:
  DeviceEstimate(const Job& job, const Machine& device);
  Seconds operator()(const Grid& grid) const;

 private:
  Seconds in_seconds(const Box& box) const;
  Seconds out_seconds(const Box& box) const;
  Seconds copy_seconds(const Box& box, Access left_out, double rate) const;
  Seconds cut_lines(const Grid& grid, Access left_out) const;

  const Job& job_;
  const Device& device_;
  Box box_;
  Seconds overhead_, all_in_ = 0, all_out_ = 0, both_ = 0;
  double in_rate_ = 0, out_rate_ = 0;
};

// On a host unit, cut along the job's dimension and across `second` (-1: not): its workers take turns, each as
// long as the largest block.
class HostEstimate {
 public:
  HostEstimate(const Job& job, int second, Grain grain, unsigned workers, const Machine& machine);
  // At most most_pieces() of each.
  Seconds operator()(std::uint64_t along, std::uint64_t across) const;
  std::uint64_t most_along() const { return along_.most; }
  std::uint64_t most_across() const { return across_.most; }

 private:
  struct Side {
    std::uint64_t grains = 1, grain = 1, rest = 0, most = 1;
    std::uint64_t largest(std::uint64_t pieces) const { return (grains + pieces - 1) / pieces * grain + rest; }
  };
  Side side_of(int dim, Grain grain) const;

  const Job& job_;
  int second_;
  std::uint64_t workers_;
  Seconds task_overhead_, block_overhead_;
  Box box_;
  Side along_, across_;
};

}  // namespace poas::detail

// Cutting the part of one unit into a grid of blocks.
#pragma once

#include <vector>

#include "adapt/adapt.hpp"
#include "poas/plan.hpp"

namespace poas::detail {

// along: blocks along the dimension that the units share; across: along `second`.
struct Grid {
  int second = -1;
  std::uint64_t along = 1, across = 1;
  Grain grain = Grain::preferred;
  bool operator==(const Grid&) const = default;
};

// What one unit has to do, and with which implementation.
struct Job {
  const Operation& operation;
  const UnitCost& cost;
  int dim = -1;
  Part part;
};

// Cuts a range into at most `count` pieces that differ by at most one grain; every piece is a multiple of
// the grain but the last, which takes the rest, and none is smaller than `least`.
std::vector<Range> cut(Range range, std::uint64_t count, std::uint64_t grain, std::uint64_t least);

// How many pieces along `dim` the job allows.
std::uint64_t most_pieces(const Job& job, int dim, Grain grain);

// The blocks of a grid with their predicted seconds, ordered so that every row or column of blocks that
// becomes available opens as many blocks as it can: by growing max(row, column).
std::vector<Block> blocks_of(const Job& job, const Grid& grid);

// Cuttable dimensions other than `dim`, the longest first, at most two.
std::vector<int> second_dims(const Operation& operation, int dim);

// The best grid for a host unit by HostEstimate: the number of blocks is near 1, 2, 3
// or 4 times the workers.
Grid best_host_grid(const Job& job, unsigned workers, const Machine& machine);

// The best grid for a device of its own, simulated with that share of the host's common link.
Grid best_device_grid(const Job& job, const Machine& machine, double link_share);

// When the job ends if cut by that grid, by HostEstimate or DeviceEstimate with that share of the
// host's common link.
Seconds estimate(const Job& job, const Grid& grid, const Machine& machine, double link_share);

// How much of the host's common link each device gets: what its part of the items says, at least an equal
// share; same order as Machine::devices.
std::vector<double> link_shares(const Machine& machine, const PartitionPlan& partition);

// Grids found before, so that equal parts on equal devices, and the same part in a later round, are
// evaluated once.
class GridMemory {
 public:
  const Grid* find(const Job& job, const Machine& machine, double link_share) const;
  // That of the part on a like unit whose size and share of the link are nearest, null if there is none.
  const Grid* nearest(const Job& job, const Machine& machine, double link_share) const;
  void keep(const Job& job, const Grid& grid, double link_share);

 private:
  struct Entry {
    int unit, dim;
    double items, link_share;
    Seconds seconds;
    Grid grid;
  };
  const Entry* nearest_entry(const Job& job, const Machine& machine, double link_share) const;

  std::vector<Entry> entries_;
};

// The estimate with the nearest grid of earlier calls, or with the best one if there is none.
Seconds estimate_part(const Job& job, const Machine& machine, double link_share, GridMemory& memory);

// The schedule stage with the grids of earlier calls for the same operation, machine and costs.
TaskList schedule(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const PartitionPlan& partition, GridMemory& memory);

}  // namespace poas::detail

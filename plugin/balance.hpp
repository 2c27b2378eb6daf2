// Moves grains of the cut dimension between units until all end together, seeing the steps of their times.
#pragma once

#include "candidates.hpp"

namespace poas::detail {

// What the units would do by `estimate_part`, and how far that is from a simulation: learned from every
// candidate that was simulated, for the units that took part.
class Balance {
 public:
  // `dim` is the dimension that the units share.
  Balance(const Problem& problem, int dim, GridMemory& memory);

  // The simulation of a partition sets the offsets between estimate and finish.
  void learn(const PartitionPlan& partition, const Candidate& simulated);

  // The partition that ends first by estimate and offset, found by bisection over the time: each unit takes
  // all the items that it can finish.  Of the units of one device only the one with the largest part moves.
  // Parts keep their alignment but one, which takes the rest; empty parts if the extent cannot be tiled.
  PartitionPlan divide(const PartitionPlan& from);

  // When the last unit of that partition should end.
  Seconds expected() const { return expected_; }

 private:
  struct Entry {
    bool moves = false;             // takes items by the time, else keeps what it has
    std::uint64_t grain = 1, smallest = 1;
    Seconds offset = 0;
    double link_share = 1;          // of a device
    std::uint64_t items = 0;
    std::vector<std::pair<std::uint64_t, Seconds>> known;
  };

  bool on_device(int unit) const;
  void start(const PartitionPlan& from);
  Seconds finish(std::size_t unit, std::uint64_t items);
  std::uint64_t most_items(std::size_t unit, Seconds time);
  std::uint64_t sum() const;
  std::size_t taker(std::uint64_t missing);
  bool fill(Seconds time);
  void trim();

  const Problem& problem_;
  int dim_;
  GridMemory& memory_;
  std::uint64_t extent_;
  std::vector<Entry> entries_;
  Seconds expected_ = 0;
};

}  // namespace poas::detail

// Which operand parts the blocks of a task list bring to each device, and when each is needed.
#pragma once

#include <vector>

#include "poas/plan.hpp"

namespace poas::detail {

// The copies of one block: its operand parts that no earlier block brought to the same device, and
// its results.
struct BlockCopies {
  unsigned parts_in = 0, parts_out = 0;
  Bytes in = 0, out = 0;
  Seconds scattered_in = 0, scattered_out = 0;  // what their lines take longer than copies of one piece
  int needs = -1;  // latest block (this one or an earlier one) that brings a part of it, -1: none
};

// One operand part in the memory of one device.
struct ResidentPart {
  int device = -1;
  int first = 0, last = 0;  // the first and last block that touch it, counted on that device
  Bytes bytes = 0;
};

struct CopyTable {
  std::vector<BlockCopies> blocks;  // same order as TaskList::blocks
  std::vector<ResidentPart> parts;
};

// What a copy of that part takes longer because it comes in lines: line_costs, between its entries by the logarithms.
Seconds scattered_seconds(const Device& device, const Operand& operand, const Box& box);

// Units of the tasks must exist.  Blocks of host units copy nothing.
CopyTable copies_of(const Operation& operation, const Machine& machine, const TaskList& tasks);

// The most bytes that the blocks need in each device's memory at once, while the block before leaves
// and the block after arrives.
std::vector<Bytes> working_sets(const CopyTable& copies, const Machine& machine, const TaskList& tasks);

}  // namespace poas::detail

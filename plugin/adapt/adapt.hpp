// Alignment of blocks, and the adapt stage for callers that may give alignment up.
#pragma once

#include "poas/plan.hpp"

namespace poas::detail {

// preferred: what the implementation and the model's tiles like; least: any block that can be run.
enum class Grain { preferred, least };

// Block extents along `dim` should be multiples of this.  Never more than the extent.
std::uint64_t grain_of(const Operation& operation, const UnitCost& cost, int dim, Grain grain);

// The least extent of a block along `dim`, at most the extent of the operation.
std::uint64_t least_of(const Operation& operation, const UnitCost& cost, int dim);

// One part for each unit with items, in the order in which parts follow each other: devices first, those with
// most items before the others.
PartitionPlan parts_of(const Machine& machine, int dim, const std::vector<std::uint64_t>& items);

PartitionPlan adapt(const Operation& operation, const Machine& machine, const CostTable& costs,
                    const Split& split, Grain grain);

}  // namespace poas::detail

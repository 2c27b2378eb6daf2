// The ways of running one GEMM on a simulated node.  A makespan is in seconds of simulated time, from
// the first submission until the whole C is in host memory.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gemm_node.hpp"

namespace gemm_node {

// Rows and columns of blocks.
struct Grid {
  std::uint64_t rows = 1, columns = 1;
};

// "4x8".  Throws std::invalid_argument.
Grid grid_from_string(const std::string& text);

// Equal blocks, placed by the policy of StarPU.
double run_policy(const Shape& shape, Grid grid);

// A split by hand: unit u gets a panel of columns in proportion to shares[u], each device in the blocks
// of grids[d], the CPU in one block for each core; bounds are multiples of `align`.
double run_shares(const Shape& shape, const std::vector<double>& shares, const std::vector<Grid>& grids,
                  std::uint64_t align);

// Calibrates, then submits one task on the whole matrices: poas splits it.  The models are kept in a file
// if one is named, and taken from there if it exists: so one process can calibrate and the next compute.
nlohmann::json run_poas(const Shape& shape, const std::string& models_file);

// Real seconds that poas needs to plan the product, cold and from its cache; medians.
nlohmann::json time_planning(const Shape& shape, const std::string& models_file);

// One task after another, while a unit is slowed and gets its speed back: makespans of some of them.
nlohmann::json run_drift(const Shape& shape, const std::string& models_file, const std::string& unit, double factor);

// What poas would plan with the truth as its models: nothing is run.
nlohmann::json true_plan(const Shape& shape);

}  // namespace gemm_node

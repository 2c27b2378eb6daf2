#include "runs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gemm_node {
namespace {

struct Placed {
  Range rows, columns;
  int worker = -1;
};

// Tiles in the order in which each block of A or B that arrives opens as many of them as it can.
std::vector<Placed> tiles(Range rows, Range columns, Grid grid, std::uint64_t align, int worker) {
  const auto row_pieces = cut(rows, grid.rows, align);
  const auto column_pieces = cut(columns, grid.columns, align);
  std::vector<std::pair<double, Placed>> ranked;
  for (std::size_t i = 0; i < row_pieces.size(); ++i)
    for (std::size_t j = 0; j < column_pieces.size(); ++j)
      ranked.push_back({std::max((static_cast<double>(i) + 1) / static_cast<double>(row_pieces.size()),
                                 (static_cast<double>(j) + 1) / static_cast<double>(column_pieces.size())),
                        {row_pieces[i], column_pieces[j], worker}});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Placed> placed;
  for (const auto& [rank, tile] : ranked) placed.push_back(tile);
  return placed;
}

// One block for each core, in the grid whose slowest block is fastest.
std::vector<Placed> core_blocks(const Shape& shape, Range columns, const std::vector<int>& workers) {
  const auto& core = node().cpu;
  std::vector<Placed> best;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (std::uint64_t rows = 1; rows <= workers.size(); ++rows) {
    if (workers.size() % rows != 0) continue;
    auto blocks = tiles({0, shape.m}, columns, {rows, workers.size() / rows}, core.tile_m, -1);
    double slowest = 0;
    for (const Placed& block : blocks)
      slowest = std::max(slowest,
                         truth::formula_seconds(core, {block.rows.size(), block.columns.size(), shape.k}));
    if (slowest >= best_seconds) continue;
    best_seconds = slowest;
    best = std::move(blocks);
  }
  for (std::size_t i = 0; i < best.size(); ++i) best[i].worker = workers[i];
  return best;
}

double since(double start_us) { return (starpu_timing_now() - start_us) * 1e-6; }

// Submits the lists side by side, so that all units start at once.
double run_lists(Matrices& matrices, const std::vector<std::vector<Placed>>& lists) {
  std::vector<std::vector<starpu_task*>> tasks;
  for (const auto& list : lists) {
    auto& mine = tasks.emplace_back();
    for (const Placed& block : list) mine.push_back(matrices.task(block.rows, block.columns, block.worker));
  }
  const double start = starpu_timing_now();
  for (std::size_t turn = 0, left = 1; left > 0; ++turn) {
    left = 0;
    for (const auto& mine : tasks) {
      if (turn >= mine.size()) continue;
      submit(mine[turn]);
      ++left;
    }
  }
  starpu_task_wait_for_all();
  matrices.bring_home();
  return since(start);
}

}  // namespace

Grid grid_from_string(const std::string& text) {
  const auto cross = text.find('x');
  if (cross == std::string::npos)
    throw std::invalid_argument("'" + text + "' is no grid: write ROWSxCOLUMNS");
  return {std::stoull(text.substr(0, cross)), std::stoull(text.substr(cross + 1))};
}

double run_policy(const Shape& shape, Grid grid) {
  Matrices matrices(shape);
  return run_lists(matrices, {tiles({0, shape.m}, {0, shape.n}, grid, 1, -1)});
}

double run_shares(const Shape& shape, const std::vector<double>& shares, const std::vector<Grid>& grids,
                  std::uint64_t align) {
  const std::size_t units = 1 + node().devices.size();
  if (shares.size() != units || grids.size() + 1 != units)
    throw std::invalid_argument("one share for each unit and one grid for each device, please");
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(total > 0)) throw std::invalid_argument("the shares must have a sum over 0");
  Matrices matrices(shape);
  std::vector<std::vector<Placed>> lists;
  double sum = 0;
  std::uint64_t begin = 0;
  for (unsigned unit = 0; unit < units; ++unit) {
    sum += shares[unit];
    const double wanted = sum / total * static_cast<double>(shape.n);
    std::uint64_t end = static_cast<std::uint64_t>(wanted / static_cast<double>(align) + 0.5) * align;
    end = sum >= total ? shape.n : std::min(end, shape.n);
    if (end <= begin) continue;
    const auto workers = workers_of(unit);
    lists.push_back(unit == 0 ? core_blocks(shape, {begin, end}, workers)
                              : tiles({0, shape.m}, {begin, end}, grids[unit - 1], align, workers.at(0)));
    begin = end;
  }
  return run_lists(matrices, lists);
}

}  // namespace gemm_node

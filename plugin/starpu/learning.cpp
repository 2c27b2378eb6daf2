#include "starpu/learning.hpp"

#include <algorithm>
#include <cmath>

#include "models/median.hpp"

namespace poas::edge {
namespace {

// Shorter blocks are mostly launch and StarPU, which says little of longer ones.
constexpr double least_seconds = 500e-6;
constexpr double wild = 8;          // times the median of a task's blocks: told to nobody
constexpr double slow_share = 0.9;  // of the blocks of a unit with several workers are not slower than what is told

struct Timed {
  int worker;
  double begin, end;   // us
  double predicted;    // s
};

// Measured over predicted of each block.  A GPU's worker launches a block before the last one has ended, so a
// block counts from there.
std::vector<double> ratios(std::vector<Timed> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const Timed& a, const Timed& b) {
    return a.worker != b.worker ? a.worker < b.worker : a.end < b.end;
  });
  std::vector<double> result;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Timed& block = blocks[i];
    const bool follows = i > 0 && blocks[i - 1].worker == block.worker;
    const double begin = follows ? std::max(block.begin, blocks[i - 1].end) : block.begin;
    result.push_back((block.end - begin) * 1e-6 / block.predicted);
  }
  return result;
}

// The models that plans use are corrected already: the ratio to the model without corrections is told.
void report(const Planned& planned, std::size_t unit, double ratio) {
  planner().observe({key_of(planned.operation, planned.plan, unit), planned.plan.costs.units[unit].model,
                     ratio * planned.factors[unit]});
}

// What one unit's blocks say of it.  Several workers are waited for, so the slow ones count; but no spike does.
double ratio_of(std::vector<double> ratios, unsigned workers) {
  const double middle = median(ratios);
  if (workers < 2) return middle;
  std::erase_if(ratios, [middle](double ratio) { return ratio > wild * middle; });
  std::sort(ratios.begin(), ratios.end());
  return ratios[static_cast<std::size_t>(std::lround(slow_share * static_cast<double>(ratios.size() - 1)))];
}

}  // namespace

void observe(const SplitRun& run) {
  const Planned& planned = *run.planned;
  for (std::size_t u = 0; u < planned.plan.units.size(); ++u) {
    std::vector<Timed> blocks;
    for (const auto& block : run.blocks) {
      const bool its_own = block->unit == static_cast<int>(u) && block->error == 0 && block->failed_units.empty();
      if (its_own && block->predicted >= least_seconds && block->end > block->begin)
        blocks.push_back({block->worker, block->begin, block->end, block->predicted});
    }
    if (!blocks.empty())
      report(planned, u, ratio_of(ratios(std::move(blocks)), planned.view->machine.units[u].workers));
  }
}

void observe(const Planned& planned, int unit, double seconds) {
  const auto u = static_cast<std::size_t>(unit);
  if (planned.whole[u].seconds >= least_seconds && seconds > 0) report(planned, u, seconds / planned.whole[u].seconds);
}

}  // namespace poas::edge

#include "optimize/solver/formulation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace poas::detail {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-9;        // so that the division which gave the time stays possible
constexpr double no_share = 1e-9;        // of all items: less is nothing

double items_within(const Line& line, Seconds time) {
  if (time < line.fixed) return 0;
  return line.slope > 0 ? (time - line.fixed) / line.slope : infinite;
}

}  // namespace

Formulation::Formulation(const DivisionProblem& problem, Seconds time)
    : problem_(problem), time_(std::max(time, 1e-300) * (1 + rounding)) {
  for (const UnitTerms& unit : problem.units) most_.push_back(most_items(unit));
  makespan_ = program_.add_column(Kind::continuous, 0, 1);
  add_columns();
  add_sum();
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    if (share_[u] == 0) continue;
    bind_share(u);
    if (problem.units[u].device < 0) add_own_time(time_row(), u, problem.units[u].slope);
  }
  for (std::size_t d = 0; d < problem.devices.size(); ++d)
    if (device_[d] != 0) {
      limit_compute(d);
      limit_link(d, in_line(problem.devices[d]));
      limit_link(d, problem.devices[d].out);
      limit_use(d);
    }
  limit_host_link();
}

double Formulation::most_items(const UnitTerms& unit) const {
  double most = problem_.items;
  Line own{unit.fixed, unit.slope};
  if (unit.device >= 0) {
    const DeviceTerms& device = problem_.devices[static_cast<std::size_t>(unit.device)];
    const Line worker = compute_line(device);
    own = {own.fixed + worker.fixed, own.slope + worker.slope};
    most = std::min({most, device.most, items_within(in_line(device), time_),
                     items_within(device.out, time_), items_within(device.host, time_)});
  }
  most = std::min(most, items_within(own, time_));
  return most < unit.least ? 0 : most;
}

template <typename Visit>
void Formulation::each_unit_of(std::size_t device, Visit visit) const {
  for (std::size_t u = 0; u < share_.size(); ++u)
    if (share_[u] != 0 && problem_.units[u].device == static_cast<int>(device)) visit(u);
}

void Formulation::add_columns() {
  share_.assign(problem_.units.size(), 0);
  used_ = share_;
  device_.assign(problem_.devices.size(), 0);
  for (std::size_t u = 0; u < problem_.units.size(); ++u) {
    if (!(most_[u] > 0) || needless(u)) continue;
    share_[u] = program_.add_column(Kind::continuous, 0);
    used_[u] = program_.add_column(Kind::binary, problem_.units[u].forced ? 1 : 0);
  }
  for (std::size_t d = 0; d < problem_.devices.size(); ++d) {
    int offered = 0;
    bool forced = false;
    each_unit_of(d, [&](std::size_t u) {
      ++offered;
      forced = forced || problem_.units[u].forced;
      device_[d] = used_[u];
    });
    if (offered > 1) device_[d] = program_.add_column(Kind::continuous, forced ? 1 : 0);
  }
}

// Whether another unit of the same device does the same for less; of two equal ones, the first stays.
bool Formulation::needless(std::size_t unit) const {
  const UnitTerms& one = problem_.units[unit];
  if (one.forced || one.device < 0) return false;
  for (std::size_t u = 0; u < problem_.units.size(); ++u) {
    const UnitTerms& other = problem_.units[u];
    if (u == unit || other.device != one.device) continue;
    if (other.fixed > one.fixed || other.slope > one.slope || other.least > one.least) continue;
    const bool equal = !other.forced && other.fixed == one.fixed && other.slope == one.slope && other.least == one.least;
    if (!equal || u < unit) return true;
  }
  return false;
}

void Formulation::add_sum() {
  const int row = program_.add_row(1, 1);
  for (std::size_t u = 0; u < share_.size(); ++u)
    if (share_[u] != 0) program_.add(row, share_[u], most_[u] / problem_.items);
}

// least used <= share <= used
void Formulation::bind_share(std::size_t unit) {
  const int upper = program_.add_row(-infinite, 0);
  program_.add(upper, share_[unit], 1);
  program_.add(upper, used_[unit], -1);
  const double least = problem_.units[unit].least / most_[unit];
  if (!(least > 0)) return;
  const int lower = program_.add_row(0, infinite);
  program_.add(lower, share_[unit], 1);
  program_.add(lower, used_[unit], -least);
}

int Formulation::time_row() {
  const int row = program_.add_row(-infinite, 0);
  program_.add(row, makespan_, -1);
  return row;
}

void Formulation::add_own_time(int row, std::size_t unit, Seconds slope) {
  program_.add(row, used_[unit], problem_.units[unit].fixed / time_);
  program_.add(row, share_[unit], slope * most_[unit] / time_);
}

void Formulation::add_link(int row, std::size_t device, const Line& line) {
  program_.add(row, device_[device], line.fixed / time_);
  each_unit_of(device, [&](std::size_t u) { program_.add(row, share_[u], line.slope * most_[u] / time_); });
}

void Formulation::limit_compute(std::size_t device) {
  const Line line = compute_line(problem_.devices[device]);
  const int row = time_row();
  program_.add(row, device_[device], line.fixed / time_);
  each_unit_of(device, [&](std::size_t u) { add_own_time(row, u, problem_.units[u].slope + line.slope); });
}

// No row where the compute time is longer whatever is done.
void Formulation::limit_link(std::size_t device, const Line& line) {
  const Line compute = compute_line(problem_.devices[device]);
  bool shorter = line.fixed <= compute.fixed;
  each_unit_of(device, [&](std::size_t u) {
    shorter = shorter && line.slope <= problem_.units[u].slope + compute.slope;
  });
  if (!shorter) add_link(time_row(), device, line);
}

// Memory; and, as units of a device take turns, one that nobody forces is enough (see enumerate.cpp):
// not each of them but their sum is at most the device's use.  Tighter, and fewer rows.
void Formulation::limit_use(std::size_t device) {
  const double most = problem_.devices[device].most;
  if (most < problem_.items) {
    const int memory = program_.add_row(-infinite, 1);
    each_unit_of(device, [&](std::size_t u) { program_.add(memory, share_[u], most_[u] / most); });
  }
  int units = 0;
  each_unit_of(device, [&](std::size_t) { ++units; });
  if (units < 2) return;
  const int one = program_.add_row(-infinite, 0);
  program_.add(one, device_[device], -1);
  each_unit_of(device, [&](std::size_t u) {
    if (!problem_.units[u].forced) program_.add(one, used_[u], 1);
  });
}

void Formulation::limit_host_link() {
  const int row = time_row();
  for (std::size_t d = 0; d < device_.size(); ++d)
    if (device_[d] != 0) add_link(row, d, problem_.devices[d].host);
}

Seconds Formulation::makespan(const std::vector<double>& values) const {
  return values[static_cast<std::size_t>(makespan_)] * time_;
}

std::vector<double> Formulation::items(const std::vector<double>& values) const {
  std::vector<double> items(share_.size(), 0);
  for (std::size_t u = 0; u < items.size(); ++u) {
    if (share_[u] == 0) continue;
    const double value = most_[u] * values[static_cast<std::size_t>(share_[u])];
    const double least = problem_.units[u].least;
    if (value > no_share * problem_.items && value >= least * (1 - rounding)) items[u] = std::max(value, least);
  }
  // What was dropped or rounded is spread over what goes beyond the least shares.
  double sum = 0, more = 0;
  for (std::size_t u = 0; u < items.size(); ++u) {
    sum += items[u];
    if (items[u] > 0) more += items[u] - problem_.units[u].least;
  }
  const double part = more > 0 ? std::max(-1.0, (problem_.items - sum) / more) : 0;
  for (std::size_t u = 0; u < items.size(); ++u)
    if (items[u] > 0) items[u] += part * (items[u] - problem_.units[u].least);
  return items;
}

bool Formulation::forced_can_take_part() const {
  for (std::size_t u = 0; u < share_.size(); ++u)
    if (problem_.units[u].forced && share_[u] == 0) return false;
  return true;
}

}  // namespace poas::detail

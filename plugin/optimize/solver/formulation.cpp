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
    if (device_[d] != 0) limit_device(d);
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
    if (!(most_[u] > 0)) continue;
    share_[u] = program_.add_column(Kind::continuous, 0);
    used_[u] = program_.add_column(Kind::binary, problem_.units[u].forced ? 1 : 0);
  }
  for (std::size_t d = 0; d < problem_.devices.size(); ++d) {
    bool offered = false, forced = false;
    each_unit_of(d, [&](std::size_t u) {
      offered = true;
      forced = forced || problem_.units[u].forced;
    });
    if (offered) device_[d] = program_.add_column(Kind::continuous, forced ? 1 : 0);
  }
}

void Formulation::add_sum() {
  const int row = program_.add_row(1, 1);
  for (std::size_t u = 0; u < share_.size(); ++u)
    if (share_[u] != 0) program_.set(row, share_[u], most_[u] / problem_.items);
}

// least used <= share <= used
void Formulation::bind_share(std::size_t unit) {
  const int upper = program_.add_row(-infinite, 0);
  program_.set(upper, share_[unit], 1);
  program_.set(upper, used_[unit], -1);
  const double least = problem_.units[unit].least / most_[unit];
  if (!(least > 0)) return;
  const int lower = program_.add_row(0, infinite);
  program_.set(lower, share_[unit], 1);
  program_.set(lower, used_[unit], -least);
}

int Formulation::time_row() {
  const int row = program_.add_row(-infinite, 0);
  program_.set(row, makespan_, -1);
  return row;
}

void Formulation::add_own_time(int row, std::size_t unit, Seconds slope) {
  program_.set(row, used_[unit], problem_.units[unit].fixed / time_);
  program_.set(row, share_[unit], slope * most_[unit] / time_);
}

void Formulation::add_link(int row, std::size_t device, const Line& line) {
  program_.set(row, device_[device], line.fixed / time_);
  each_unit_of(device, [&](std::size_t u) { program_.set(row, share_[u], line.slope * most_[u] / time_); });
}

// Units of a device take turns, so one that nobody forces is enough (see enumerate.cpp): not each of
// them but their sum is at most the device's use.  Tighter, and fewer rows.
void Formulation::limit_device(std::size_t device) {
  const DeviceTerms& terms = problem_.devices[device];
  const int compute = time_row();
  program_.set(compute, device_[device], compute_line(terms).fixed / time_);
  const int one = program_.add_row(-infinite, 0);
  program_.set(one, device_[device], -1);
  const int memory = program_.add_row(-infinite, 1);
  each_unit_of(device, [&](std::size_t u) {
    add_own_time(compute, u, problem_.units[u].slope + terms.tail.slope);
    if (!problem_.units[u].forced) program_.set(one, used_[u], 1);
    program_.set(memory, share_[u], most_[u] / terms.most);
  });
  add_link(time_row(), device, in_line(terms));
  add_link(time_row(), device, terms.out);
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

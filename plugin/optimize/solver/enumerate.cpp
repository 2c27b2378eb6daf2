// Exact division without a library: for a given time T the most items that can be done are known in
// closed form, so the least T is found by bisection, and branch and bound decides what is used.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "optimize/solver/solver.hpp"

namespace poas::detail {
namespace {

constexpr int most_nodes = 4000;
constexpr double tolerance = 1e-9;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Seconds longest = 1e30;  // beyond every time that validate() lets through

// One way of using a device (or one unit of the host): the units it uses, as lines in T.
struct Option {
  std::vector<std::size_t> units;
  std::size_t cheapest = 0;      // of units: takes all beyond the least of each
  double least = 0;              // items
  Seconds busy = 0;              // everything fixed and the least items of each unit
  Seconds slope = 0;             // per item more
  bool used() const { return !units.empty(); }
};

// A device, or a unit of the host: they meet in the sum of the items and in the host's link only.
struct Group {
  std::vector<Option> options;
  Line in, out, host;
  double most = 0;
  bool must_be_used = false;
};

double items_within(const Line& line, Seconds time) {
  if (time < line.fixed) return -1;
  return line.slope > 0 ? (time - line.fixed) / line.slope : infinite;
}

// Most items within the time, -1 if not even the least.
double capacity(const Group& group, const Option& option, Seconds time) {
  if (!option.used()) return 0;
  const double more = items_within({option.busy, option.slope}, time);
  if (more < 0) return -1;
  const double most = std::min({option.least + more, items_within(group.in, time),
                                items_within(group.out, time), group.most});
  return most < option.least ? -1 : most;
}

Option make_option(const DivisionProblem& problem, const Line& device, std::vector<std::size_t> units) {
  Option option;
  option.busy = device.fixed;
  option.cheapest = units.front();
  for (const std::size_t u : units) {
    const UnitTerms& unit = problem.units[u];
    option.least += unit.least;
    option.busy += unit.fixed + (unit.slope + device.slope) * unit.least;
    if (unit.slope < problem.units[option.cheapest].slope) option.cheapest = u;
  }
  option.slope = problem.units[option.cheapest].slope + device.slope;
  option.units = std::move(units);
  return option;
}

// Units of one device take turns, so of two units that nobody forces one is enough: giving all items
// of the one with the greater slope to the other saves its fixed part and costs nothing.  What is
// left: the forced ones, alone or with one more.
Group make_group(const DivisionProblem& problem, const std::vector<std::size_t>& units, const Line& device) {
  std::vector<std::size_t> forced;
  std::copy_if(units.begin(), units.end(), std::back_inserter(forced),
               [&](std::size_t u) { return problem.units[u].forced; });
  Group group;
  group.most = problem.items;
  group.must_be_used = !forced.empty();
  group.options.push_back(forced.empty() ? Option{} : make_option(problem, device, forced));
  for (const std::size_t u : units) {
    if (problem.units[u].forced) continue;
    std::vector<std::size_t> used = forced;
    used.push_back(u);
    group.options.push_back(make_option(problem, device, std::move(used)));
  }
  return group;
}

std::vector<Group> make_groups(const DivisionProblem& problem) {
  std::vector<Group> groups;
  std::vector<std::vector<std::size_t>> on_device(problem.devices.size());
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    if (problem.units[u].device < 0)
      groups.push_back(make_group(problem, {u}, {}));
    else
      on_device[static_cast<std::size_t>(problem.units[u].device)].push_back(u);
  }
  for (std::size_t d = 0; d < on_device.size(); ++d) {
    if (on_device[d].empty()) continue;
    const DeviceTerms& device = problem.devices[d];
    Group group = make_group(problem, on_device[d], compute_line(device));
    group.in = in_line(device);
    group.out = device.out;
    group.host = device.host;
    group.most = std::min(group.most, device.most);
    groups.push_back(std::move(group));
  }
  return groups;
}

// What a group may do within T: between least and most items, each costing `host` seconds of the
// host's link.
struct Room {
  double least = 0, most = 0;
  Seconds host = 0;
};

constexpr int undecided = -1;

class Search {
 public:
  explicit Search(const DivisionProblem& problem)
      : items_(problem.items), groups_(make_groups(problem)), choice_(groups_.size(), undecided) {}

  // False if no division exists.
  bool run() {
    const Seconds bound = least_time(0);
    if (!std::isfinite(bound)) return false;
    best_time_ = infinite;
    guess_all(bound);
    guess_single(bound);
    if (best_time_ > bound * (1 + tolerance)) branch(0, bound);
    return std::isfinite(best_time_);
  }

  bool complete() const { return nodes_ <= most_nodes; }
  std::vector<double> items(const DivisionProblem& problem);

 private:
  bool reaches(Seconds time);
  bool room_of(std::size_t group, Seconds time, Room& room, Seconds& host) const;
  Seconds least_time(Seconds from);
  void guess_all(Seconds time);
  void guess_single(Seconds time);
  void leaf(Seconds from);
  void branch(std::size_t group, Seconds bound);
  std::vector<int> order_of(std::size_t group) const;
  // What has to be reached to be worth keeping.
  Seconds target() const { return std::isfinite(best_time_) ? best_time_ * (1 - tolerance) : longest; }

  double items_;
  std::vector<Group> groups_;
  std::vector<int> choice_;      // option of each group, or undecided
  std::vector<Room> rooms_;      // scratch of reaches()
  std::vector<int> best_choice_;
  Seconds best_time_ = infinite;
  int nodes_ = 0;
};

// An undecided group is relaxed: its best option without a least share, the fixed part of the host's
// link spread over all items that it could do.
bool Search::room_of(std::size_t index, Seconds time, Room& room, Seconds& host) const {
  const Group& group = groups_[index];
  room = {0, -1, group.host.slope};
  if (choice_[index] != undecided) {
    const Option& option = group.options[static_cast<std::size_t>(choice_[index])];
    room.least = option.least;
    room.most = capacity(group, option, time);
    if (option.used()) host += group.host.fixed;
  } else {
    for (const Option& option : group.options)
      room.most = std::max(room.most, capacity(group, option, time));
    if (group.must_be_used) {
      room.least = group.options.front().least;
      host += group.host.fixed;
    } else if (room.most > 0) {
      room.host += group.host.fixed / room.most;
    }
  }
  return room.most >= room.least;
}

// Whether all items can be done in that time: each group gets its least, then the groups are filled
// in the order of what an item costs on the host's link (fractional knapsack).  Monotone in time.
bool Search::reaches(Seconds time) {
  rooms_.resize(groups_.size());
  double done = 0;
  Seconds host = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!room_of(g, time, rooms_[g], host)) return false;
    done += rooms_[g].least;
    host += rooms_[g].least * rooms_[g].host;
  }
  if (done > items_ || host > time) return false;
  std::sort(rooms_.begin(), rooms_.end(), [](const Room& a, const Room& b) { return a.host < b.host; });
  for (const Room& room : rooms_) {
    const double wanted = std::min(room.most - room.least, items_ - done);
    const double possible = room.host > 0 ? (time - host) / room.host : wanted;
    done += std::min(wanted, possible);
    host += std::min(wanted, possible) * room.host;
    if (possible < wanted) break;
  }
  return done >= items_ * (1 - 1e-14);
}

// The least time for the present choice, at least `from`, to full precision; infinite if there is none.
Seconds Search::least_time(Seconds from) {
  if (reaches(from)) return from;
  Seconds low = from, step = std::max(from * 1e-13, 1e-15);
  while (!reaches(from + step)) {
    low = from + step;
    step *= 8;
    if (step > longest) return infinite;
  }
  Seconds high = from + step;
  for (int i = 0; i < 80 && high - low > 1e-14 * high; ++i) {
    const Seconds middle = low + (high - low) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

// Options of a group, the greatest capacity at the bound first.
std::vector<int> Search::order_of(std::size_t index) const {
  const Group& group = groups_[index];
  const Seconds time = target();
  std::vector<std::pair<double, int>> order;
  for (std::size_t o = 0; o < group.options.size(); ++o)
    order.emplace_back(-capacity(group, group.options[o], time), static_cast<int>(o));
  std::sort(order.begin(), order.end());
  std::vector<int> options;
  for (const auto& [worst, option] : order) options.push_back(option);
  return options;
}

// A first division: every group uses what does most within the bound.
void Search::guess_all(Seconds time) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    double most = -infinite;
    for (std::size_t o = 0; o < group.options.size(); ++o) {
      const double items = capacity(group, group.options[o], time);
      if (items <= most) continue;
      most = items;
      choice_[g] = static_cast<int>(o);
    }
  }
  leaf(time);
}

// Divisions that use one option beside what is forced.
void Search::guess_single(Seconds time) {
  std::fill(choice_.begin(), choice_.end(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t o = 0; o < groups_[g].options.size(); ++o) {
      choice_[g] = static_cast<int>(o);
      leaf(time);
    }
    choice_[g] = 0;
  }
  std::fill(choice_.begin(), choice_.end(), undecided);
}

void Search::leaf(Seconds from) {
  if (!reaches(target())) return;
  const Seconds time = least_time(from);
  if (time >= best_time_) return;
  best_time_ = time;
  best_choice_ = choice_;
}

void Search::branch(std::size_t group, Seconds bound) {
  if (++nodes_ > most_nodes) return;
  if (!reaches(target())) return;
  if (group == groups_.size()) return leaf(bound);
  for (const int option : order_of(group)) {
    choice_[group] = option;
    branch(group + 1, bound);
  }
  choice_[group] = undecided;
}

// The items of each unit for the best choice.  Time left over is spread evenly: each group takes the
// same part of what it could do beyond its least.
std::vector<double> Search::items(const DivisionProblem& problem) {
  choice_ = best_choice_;
  std::vector<Room> rooms(groups_.size());
  std::vector<std::size_t> order(groups_.size());
  double least = 0;
  Seconds host = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    room_of(g, best_time_, rooms[g], host);
    order[g] = g;
    least += rooms[g].least;
    host += rooms[g].least * rooms[g].host;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rooms[a].host < rooms[b].host; });
  double more = 0;
  for (const std::size_t g : order) {
    double& most = rooms[g].most;
    if (rooms[g].host > 0) most = std::min(most, rooms[g].least + std::max(0.0, best_time_ - host) / rooms[g].host);
    host += (most - rooms[g].least) * rooms[g].host;
    more += most - rooms[g].least;
  }
  const double part = more > 0 ? std::max(0.0, problem.items - least) / more : 0;
  std::vector<double> items(problem.units.size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Option& option = groups_[g].options[static_cast<std::size_t>(choice_[g])];
    if (!option.used()) continue;
    for (const std::size_t u : option.units) items[u] = problem.units[u].least;
    items[option.cheapest] += part * (rooms[g].most - rooms[g].least);
  }
  return items;
}

}  // namespace

Solution solve_enumerate(const DivisionProblem& problem, const SolverLimits&) {
  validate(problem);
  Solution solution;
  solution.solver = "enumerate";
  Search search(problem);
  if (!search.run()) {
    solution.status = search.complete() ? SolveStatus::infeasible : SolveStatus::time_limit;
    return solution;
  }
  solution.status = search.complete() ? SolveStatus::optimal : SolveStatus::feasible;
  solution.items = search.items(problem);
  solution.makespan = makespan_of(problem, solution.items);
  return solution;
}

}  // namespace poas::detail

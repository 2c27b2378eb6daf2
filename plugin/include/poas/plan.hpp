// The four stages and the values between them.  Everything here is pure: no clock, environment,
// file, StarPU or CUDA; safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poas/machine.hpp"
#include "poas/models.hpp"
#include "poas/operation.hpp"

namespace poas {

enum class Objective { time };
enum class SplitMode { automatic, never, always };
enum class SolveStatus { optimal, feasible, infeasible, unbounded, time_limit, no_solver, numerical };

const char* to_string(SolveStatus status);
const char* to_string(SplitMode mode);
Objective objective_from_string(const std::string& word);   // throw Error(invalid)
SplitMode split_mode_from_string(const std::string& word);

// What the user asks for.
struct Request {
  Objective objective = Objective::time;
  SplitMode split = SplitMode::automatic;   // always: every usable unit gets at least one block
  std::optional<Precision> precision;       // allows this class in place of the operation's
  std::vector<std::string> units;           // allowed unit names, empty: all
  double least_gain = 0.02;                 // co-execution must beat the best single unit by this
  Seconds solver_time_limit = 5e-3;
  std::string solver = "glpk";              // or "enumerate"
};

// How busy each unit is when this operation may start (same order as Machine::units; empty: idle).
struct State {
  std::vector<Seconds> busy;
};

// --- predict -------------------------------------------------------------------------------------

struct UnitCost {
  int implementation = -1;   // index into Operation::implementations, -1: unit not usable
  TimeModel model;
  std::string why_not;       // reason when not usable
  Power power{};             // of one worker above idle while it computes, a default if nobody measured it
  bool usable() const { return implementation >= 0; }
};

struct CostTable {
  std::vector<UnitCost> units;   // same order as Machine::units
  bool guessed = false;          // some model is a default
};

// For each unit the fastest implementation that has the precision and is allowed.
CostTable predict(const Operation& operation, const Machine& machine, const Models& models,
                  const Request& request);

// --- optimize ------------------------------------------------------------------------------------

struct Split {
  int dim = -1;
  std::vector<double> share;    // items of dim per unit, sums to its extent
  Seconds makespan = 0, bound = 0;
  double gap = 0;
  SolveStatus status = SolveStatus::no_solver;
  std::string solver;
};

Split optimize(const Operation& operation, const Machine& machine, const CostTable& costs,
               const State& state, const Request& request, int dim);

// --- adapt ---------------------------------------------------------------------------------------

struct Part {
  int unit = -1;
  Range range;                  // of PartitionPlan::dim, never empty
  bool operator==(const Part&) const = default;
};

struct PartitionPlan {
  int dim = -1;
  std::vector<Part> parts;      // tile [0, extent) in this order
};

PartitionPlan adapt(const Operation& operation, const Machine& machine, const CostTable& costs,
                    const Split& split);

// --- schedule ------------------------------------------------------------------------------------

struct Block {
  int unit = -1;
  Box box{};
  Seconds seconds = 0;          // predicted compute time on one worker
  bool operator==(const Block&) const = default;
};

struct TaskList {
  std::vector<Block> blocks;    // each unit runs its blocks in this order
};

// Cuts the share of each unit into blocks: for the CPU unit one or more for each core, for a device
// the grid that simulate() finds best.
TaskList schedule(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const PartitionPlan& partition);

struct BlockTimes {
  Seconds input = 0;            // all inputs are on the unit's memory
  Seconds begin = 0, end = 0;   // compute
  Seconds output = 0;           // result is back in host memory
};

struct Timeline {
  std::vector<BlockTimes> blocks;                 // same order as TaskList::blocks
  std::vector<Seconds> unit_compute, unit_finish; // same order as Machine::units
  std::vector<Bytes> device_in, device_out;       // same order as Machine::devices
  Seconds makespan = 0;
};

// Runs the blocks on the model of the machine: each worker in order, copies first come first served
// on each link, all links together within the host's limit, an operand part copied once to a device.
Timeline simulate(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const TaskList& tasks);

// --- all four ------------------------------------------------------------------------------------

struct PlanUnit {
  std::string name;
  UnitKind kind = UnitKind::cpu;
  double share = 0;             // of the operation's work, 0 if left out
  unsigned blocks = 0;
  std::string implementation;
  std::string precision;
  Seconds predicted = 0;        // when its last result is home
  Seconds compute = 0;          // predicted compute time, all workers added
  Seconds measured = 0;         // when its last block ended, 0 if not run
  std::string reason;           // why left out
  Joules joules = 0;            // predicted, of its computing above idle
  double joules_error = 0;      // relative, see energy()
};

struct Plan {
  bool split = false;           // false: the task runs whole on `whole_unit`
  int whole_unit = -1;          // -1: no unit can run it
  int whole_implementation = -1;
  SolveStatus status = SolveStatus::no_solver;
  std::string solver, reason;   // reason: why it is this plan, in words
  Seconds makespan = 0, bound = 0, plan_seconds = 0, measured = 0;
  double gap = 0;
  std::string source;           // "measured" or "default" models
  std::string operation;        // name, variant, type and extents in words
  std::optional<Precision> allowed;  // class that the request allowed in place of the operation's
  std::vector<PlanUnit> units;  // same order as Machine::units
  CostTable costs;
  int dim = -1;
  TaskList tasks;               // empty when not split
  Joules joules = 0;            // predicted, of all units and of the idle node until the makespan
  Joules idle_joules = 0;       // of these, what the node draws in that time anyway
  std::string power_source;     // "measured" if all powers that they rest on are, else "default"
};

// The composition of the stages.  Never predicted slower than the best single unit.
// Throws Error(invalid) for input that validate() refuses.  plan_seconds stays 0.
Plan plan(const Operation& operation, const Machine& machine, const Models& models,
          const State& state, const Request& request);

// --- energy --------------------------------------------------------------------------------------

struct Energy {
  Joules joules = 0;
  double relative_error = 0;    // of its time and of its power together, as if they erred independently
};
// Above idle, of a block that takes a usable unit so long on one worker.  Copies and waiting count as idle.
Energy energy(const UnitCost& cost, Seconds seconds);
// The host and all devices while nothing runs, with a default for each that nobody measured.
Power idle_power(const Machine& machine);
// Fills the energy of a plan from the compute times of its units and its makespan; plan() has done so.
void predict_energy(Plan& plan, const Machine& machine);

// Throws Error(invalid) if the blocks do not tile the operation exactly, break a unit's precision,
// least size or memory, or name an unknown unit.
void validate(const Plan& plan, const Operation& operation, const Machine& machine);

std::string to_json(const Plan& plan);
// The table of units, makespan, bound and reason, for people.
std::string explain(const Plan& plan);

}  // namespace poas

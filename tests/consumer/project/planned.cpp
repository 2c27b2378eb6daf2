// A C++ program on the public headers: plans a task for two units of which one is three times as
// fast.  Without copies and overheads, a quarter and three quarters end at the same time.
#include <cmath>
#include <cstdio>

#include <poas/divisible.hpp>
#include <poas/plan.hpp>
#include <poas/runtime.hpp>

namespace {

constexpr double items = 1e6;

poas::Operation operation() {
  poas::Operation result;
  result.name = "scale";
  result.dims = {{"i", static_cast<std::uint64_t>(items), true}};
  poas::Operand vector;
  vector.access = poas::Access::read_write;
  vector.element_bytes = 4;
  vector.axes = {{poas::Follow::split, 0, static_cast<std::uint64_t>(items), 0, 0}};
  result.operands = {vector};
  result.work_per_point = 1000;
  for (auto kind : {poas::UnitKind::cpu, poas::UnitKind::opencl}) {
    poas::Implementation one;
    one.name = poas::to_string(kind);
    one.kind = kind;
    one.multiple.fill(1);
    one.least.fill(1);
    result.implementations.push_back(one);
  }
  return result;
}

poas::Machine machine() {
  poas::Machine result;
  result.name = "invented";
  result.devices = {{"opencl0", 1e12, 1e15, 1e15, 0, 0}};
  result.units = {{"cpu", poas::UnitKind::cpu, -1, 1}, {"opencl0", poas::UnitKind::opencl, 0, 1}};
  return result;
}

poas::Models models() {
  poas::Models result;
  poas::TimeModel slow;
  slow.samples = 10;
  slow.seconds_per_flop = 3e-9;
  poas::TimeModel fast = slow;
  fast.seconds_per_flop = 1e-9;
  result.times[{"cpu", "scale", "cpu", poas::Type::fp32}] = slow;
  result.times[{"opencl0", "scale", "opencl", poas::Type::fp32}] = fast;
  return result;
}

}  // namespace

int main() {
  const poas::Plan plan = poas::plan(operation(), machine(), models(), {}, {});
  std::printf("%s", poas::explain(plan).c_str());
  if (!plan.split || plan.units.size() != 2) return 1;
  const bool shares = std::abs(plan.units[0].share - 0.25) < 0.02 && std::abs(plan.units[1].share - 0.75) < 0.02;
  // 0.75 of 1e9 flop at 1e9 flop/s.
  const bool makespan = std::abs(plan.makespan - 0.75) < 0.02 && plan.makespan >= plan.bound * (1 - 1e-9);
  std::printf("poas %s: shares %s, makespan %s\n", poas_version(), shares ? "right" : "WRONG", makespan ? "right" : "WRONG");
  return shares && makespan ? 0 : 1;
}

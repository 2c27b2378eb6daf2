// Operations, machines and models written by hand, small enough to be checked with a pencil.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>

#include "poas/plan.hpp"

namespace poas::test {

inline Extents ones() {
  Extents extents;
  extents.fill(1);
  return extents;
}

inline Implementation implementation(const std::string& name, UnitKind kind, Precision precision) {
  Implementation one;
  one.name = name;
  one.kind = kind;
  one.precision = precision;
  one.multiple = ones();
  one.least = ones();
  return one;
}

// C (m x n, read and written) += A (m x k) B (k x n), column-major fp32; m and n may be cut.
inline Operation gemm(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Operation operation;
  operation.name = "gemm";
  operation.variant = "NN";
  operation.dims = {{"m", m, true}, {"n", n, true}, {"k", k, false}};
  operation.operands = {{Access::read, 4, {{Follow::split, 0, m}, {Follow::split, 2, k}}},
                        {Access::read, 4, {{Follow::split, 2, k}, {Follow::split, 1, n}}},
                        {Access::read_write, 4, {{Follow::split, 0, m}, {Follow::split, 1, n}}}};
  operation.implementations = {implementation("cpu", UnitKind::cpu, Precision::fp32),
                               implementation("cuda", UnitKind::cuda, Precision::fp32),
                               implementation("tensor", UnitKind::tensor, Precision::tf32),
                               implementation("opencl", UnitKind::opencl, Precision::fp32)};
  operation.work_per_point = 2;
  return operation;
}

// y[i] = f(x[i]): `n` items of one byte in and one byte out, one flop each.
inline Operation stream(std::uint64_t n) {
  Operation operation;
  operation.name = "stream";
  operation.dims = {{"n", n, true}};
  operation.operands = {{Access::read, 1, {{Follow::split, 0, n}}},
                        {Access::write, 1, {{Follow::split, 0, n}}}};
  operation.implementations = gemm(1, 1, 1).implementations;
  return operation;
}

// One flop an item, no operands to copy: what is left is computation.
inline Operation pure_work(std::uint64_t n) {
  Operation operation = stream(n);
  operation.name = "pure";
  operation.operands.clear();
  return operation;
}

struct Node {
  Machine machine;
  Models models;

  // Adds host cores that compute `rate` flop/s each.
  Node& host(const std::string& name, unsigned workers, double rate) {
    machine.units.push_back({name, UnitKind::cpu, -1, workers});
    return speed(name, "cpu", rate);
  }
  // Adds a device with one CUDA unit.
  Node& device(const std::string& name, double rate, double link, Seconds latency) {
    machine.devices.push_back({name, 1e15, link, link, latency, 0});
    machine.units.push_back({name, UnitKind::cuda, static_cast<int>(machine.devices.size()) - 1, 1});
    return speed(name, "cuda", rate);
  }
  // A measured model for both operations above.
  Node& speed(const std::string& unit, const std::string& implementation, double rate, Seconds fixed = 0) {
    for (const char* operation : {"gemm", "stream", "pure"}) {
      TimeModel model;
      model.fixed = fixed;
      model.seconds_per_flop = 1 / rate;
      model.samples = 5;
      models.times[{unit, operation, implementation, Type::fp32}] = model;
    }
    return *this;
  }
  CostTable costs(const Operation& operation) const { return predict(operation, machine, models, {}); }
  Plan plan(const Operation& operation, const Request& request = {}) const {
    return poas::plan(operation, machine, models, {}, request);
  }
};

inline Node node() {
  Node empty;
  empty.machine.name = "by hand";
  empty.machine.source = "measured";
  return empty;
}

// A block of the first dimension.
inline Block piece(const Operation& operation, int unit, std::uint64_t begin, std::uint64_t end,
                   Seconds seconds) {
  Block block{unit, whole_box(operation), seconds};
  block.box[0] = {begin, end};
  return block;
}

}  // namespace poas::test

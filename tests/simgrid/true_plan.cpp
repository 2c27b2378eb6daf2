// The plan that poas would make if it knew the truth of the node and StarPU's own costs there, for comparison with what it makes after calibration.
#include "poas/plan.hpp"
#include "runs.hpp"

namespace gemm_node {
namespace {

constexpr const char* operation_name = "node_gemm";
constexpr double queueing = 10e-6;

poas::Operand operand(poas::Access access, int row_dim, std::uint64_t rows, int column_dim,
                      std::uint64_t columns) {
  poas::Operand result;
  result.access = access;
  result.element_bytes = sizeof(float);
  result.axes = {{poas::Follow::split, row_dim, rows}, {poas::Follow::split, column_dim, columns}};
  return result;
}

poas::Implementation implementation(const char* name, poas::UnitKind kind, std::uint64_t rows,
                                    std::uint64_t columns) {
  poas::Implementation result;
  result.name = name;
  result.kind = kind;
  result.multiple.fill(1);
  result.least.fill(1);
  result.multiple[0] = rows;
  result.multiple[1] = columns;
  return result;
}

poas::Operation operation_of(const Shape& shape) {
  poas::Operation operation;
  operation.name = operation_name;
  operation.dims = {{"m", shape.m, true}, {"n", shape.n, true}, {"k", shape.k, false}};
  operation.operands = {operand(poas::Access::read, 0, shape.m, 2, shape.k),
                        operand(poas::Access::read, 2, shape.k, 1, shape.n),
                        operand(poas::Access::write, 0, shape.m, 1, shape.n)};
  operation.implementations = {implementation("cpu", poas::UnitKind::cpu, 16, 8),
                               implementation("cuda", poas::UnitKind::cuda, 128, 128)};
  operation.work_per_point = 2;
  return operation;
}

poas::TimeModel true_model(const truth::Processor& processor) {
  poas::TimeModel model;
  model.fixed = processor.launch_seconds;
  model.seconds_per_flop = 1 / processor.flops_per_s;
  model.tile[0] = processor.tile_m;
  model.tile[1] = processor.tile_n;
  model.parallel = static_cast<unsigned>(processor.sms);
  model.samples = 1;
  return model;
}

}  // namespace

nlohmann::json true_plan(const Shape& shape) {
  const truth::Node& truth = node();
  poas::Machine machine;
  machine.name = truth.name;
  machine.host_link_bytes_per_s = truth.host_link_bytes_per_s;
  // What StarPU charges in simulation: queueing a kernel or a copy, and submitting a task with its data.
  machine.task_overhead = queueing;
  machine.block_overhead = 6e-6;
  machine.units.push_back({"cpu", poas::UnitKind::cpu, -1, truth.cores});
  poas::Models models;
  models.times[{"cpu", operation_name, "cpu", poas::Type::fp32}] = true_model(truth.cpu);
  for (std::size_t d = 0; d < truth.devices.size(); ++d) {
    const truth::Link& link = truth.links[d];
    const std::string name = "cuda" + std::to_string(d);
    machine.devices.push_back({name, link.memory_bytes, link.h2d_bytes_per_s, link.d2h_bytes_per_s,
                               link.latency_seconds + queueing, truth.peer_bytes_per_s});
    machine.units.push_back({name, poas::UnitKind::cuda, static_cast<int>(d), 1});
    models.times[{name, operation_name, "cuda", poas::Type::fp32}] = true_model(truth.devices[d]);
  }
  poas::Request request;
  request.solver_time_limit = 1;
  const poas::Plan plan = poas::plan(operation_of(shape), machine, models, {}, request);
  return {{"makespan", plan.makespan},
          {"bound", plan.bound},
          {"split", plan.split},
          {"plan", nlohmann::json::parse(poas::to_json(plan))}};
}

}  // namespace gemm_node

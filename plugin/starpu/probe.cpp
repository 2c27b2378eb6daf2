// Asks StarPU what the node is made of.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "poas/error.hpp"
#include "poas/runtime.hpp"
#include "starpu/planner.hpp"
#include "starpu/view.hpp"

namespace poas::edge {
namespace {

double positive_or(double value, double otherwise) {
  return std::isfinite(value) && value > 0 ? value : otherwise;
}

// StarPU calls a worker "CUDA 0.0 (NVIDIA H200 125.8 GiB 05:00.0)".
std::string product_of(int worker) {
  char name[256] = "";
  starpu_worker_get_name(worker, name, sizeof name);
  const std::string words = name;
  const auto open = words.find('('), size = words.rfind(" GiB");
  if (open == words.npos || size == words.npos) return "";
  const auto end = words.rfind(' ', size - 1);
  return end == words.npos || end <= open ? "" : words.substr(open + 1, end - open - 1);
}

// StarPU gives bandwidths in MB/s and latencies in us; a link it did not measure counts as 1 GB/s.
Device make_device(const std::string& name, int node, const std::string& product) {
  constexpr double mega = 1e6, unknown_bandwidth = 1e9, unknown_latency = 10e-6;
  Device device;
  device.name = name;
  device.product = product;
  device.memory_bytes = std::max(0.0, static_cast<double>(starpu_memory_get_total(static_cast<unsigned>(node))));
  device.h2d_bytes_per_s =
      positive_or(starpu_transfer_bandwidth(STARPU_MAIN_RAM, node) * mega, unknown_bandwidth);
  device.d2h_bytes_per_s =
      positive_or(starpu_transfer_bandwidth(node, STARPU_MAIN_RAM) * mega, unknown_bandwidth);
  device.latency = positive_or(starpu_transfer_latency(STARPU_MAIN_RAM, node) * 1e-6, unknown_latency);
  return device;
}

int device_of_node(View& view, int node, const std::string& name, int worker) {
  for (std::size_t i = 0; i < view.device_node.size(); ++i)
    if (view.device_node[i] == node) return static_cast<int>(i);
  view.device_node.push_back(node);
  view.machine.devices.push_back(make_device(name, node, product_of(worker)));
  view.complete = view.complete && view.machine.devices.back().memory_bytes > 0;
  return static_cast<int>(view.device_node.size()) - 1;
}

void add_worker(View& view, const std::string& name, UnitKind kind, int worker) {
  const int node = static_cast<int>(starpu_worker_get_memory_node(worker));
  const std::string device = name.substr(0, name.find('.'));
  auto& units = view.machine.units;
  auto it = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  if (it == units.end()) {
    Unit unit;
    unit.name = name;
    unit.kind = kind;
    unit.device = node == STARPU_MAIN_RAM ? -1 : device_of_node(view, node, device, worker);
    unit.workers = 0;
    units.push_back(unit);
    view.units.push_back({{}, node});
    it = units.end() - 1;
  }
  UnitWorkers& members = view.units[static_cast<std::size_t>(it - units.begin())];
  if (!members.workers.test(static_cast<std::size_t>(worker))) ++it->workers;
  members.workers.set(static_cast<std::size_t>(worker));
}

// FNV-1a over the worker numbers.
std::uint64_t id_of(const int* workers, unsigned count) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned i = 0; i < count; ++i)
    hash = (hash ^ static_cast<std::uint64_t>(workers[i] + 1)) * 0x100000001b3u;
  return hash;
}

void estimate_peers(View& view) {
  for (std::size_t i = 0; i < view.device_node.size(); ++i) {
    double slowest = 0;
    for (std::size_t j = 0; j < view.device_node.size(); ++j) {
      if (i == j) continue;
      const double rate = starpu_transfer_bandwidth(view.device_node[i], view.device_node[j]) * 1e6;
      if (std::isfinite(rate) && rate > 0) slowest = slowest > 0 ? std::min(slowest, rate) : rate;
    }
    view.machine.devices[i].peer_bytes_per_s = slowest;
  }
}

// Measured links and overheads replace StarPU's estimate where the names agree.
void merge_measured(Machine& machine, const Machine& measured) {
  for (Device& device : machine.devices)
    for (const Device& known : measured.devices)
      if (known.name == device.name && !is_replaced(known, device)) {
        device.h2d_bytes_per_s = known.h2d_bytes_per_s;
        device.d2h_bytes_per_s = known.d2h_bytes_per_s;
        device.latency = known.latency;
        device.start_latency = known.start_latency;
        device.line_costs = known.line_costs;
        device.idle = known.idle;
      }
  machine.host_link_bytes_per_s = measured.host_link_bytes_per_s;
  machine.task_overhead = measured.task_overhead;
  machine.split_overhead = measured.split_overhead;
  machine.block_overhead = measured.block_overhead;
  machine.host_idle = measured.host_idle;
  machine.source = "measured";
}

}  // namespace

std::string host_name() {
  if (const char* name = std::getenv("STARPU_HOSTNAME")) return name;
  char buffer[256] = "localhost";
  gethostname(buffer, sizeof buffer - 1);
  return std::string(buffer).substr(0, std::string(buffer).find('.'));
}

std::string device_name(starpu_worker_archtype type, int devid) {
  switch (type) {
    case STARPU_CPU_WORKER: return "cpu";
    case STARPU_CUDA_WORKER: return "cuda" + std::to_string(devid);
    case STARPU_OPENCL_WORKER: return "opencl" + std::to_string(devid);
    default: return "";
  }
}

View make_view(const int* workers, unsigned count) {
  View view;
  view.id = id_of(workers, count);
  view.machine.name = host_name();
  view.machine.task_overhead = 10e-6;   // a StarPU task costs 3 to 12 us
  view.machine.split_overhead = 100e-6;
  view.machine.block_overhead = 6e-6;   // 5.5 us in simulation, where submissions are charged
  for (unsigned i = 0; i < count; ++i) {
    const int worker = workers[i];
    const starpu_worker_archtype type = starpu_worker_get_type(worker);
    const std::string name = device_name(type, starpu_worker_get_devid(worker));
    switch (type) {
      case STARPU_CPU_WORKER: add_worker(view, name, UnitKind::cpu, worker); break;
      case STARPU_OPENCL_WORKER: add_worker(view, name, UnitKind::opencl, worker); break;
      case STARPU_CUDA_WORKER:
        add_worker(view, name, UnitKind::cuda, worker);
        add_worker(view, name + ".tensor", UnitKind::tensor, worker);
        break;
      default: break;
    }
  }
  estimate_peers(view);
  planner().meet(view.machine.devices);
  if (const auto measured = planner().models()->machine) merge_measured(view.machine, *measured);
  return view;
}

View make_view(unsigned sched_ctx) {
  int* workers = nullptr;
  const unsigned count = starpu_sched_ctx_get_workers_list(sched_ctx, &workers);
  View view = make_view(workers, count);
  std::free(workers);
  return view;
}

}  // namespace poas::edge

namespace poas {

Machine probe() {
  if (!starpu_is_initialized())
    throw Error(Errc::no_unit, "the node cannot be probed: StarPU is not running, call starpu_init() first");
  std::vector<int> workers(starpu_worker_get_count());
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i] = static_cast<int>(i);
  return edge::make_view(workers.data(), static_cast<unsigned>(workers.size())).machine;
}

}  // namespace poas

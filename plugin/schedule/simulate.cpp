// Event-driven model of a node: compute workers in order, copies first come first served on each
// link, all moving copies within the host's common limit.
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "poas/error.hpp"
#include "poas/plan.hpp"
#include "schedule/copies.hpp"

namespace poas {
namespace {

using detail::BlockCopies;

constexpr Seconds never = std::numeric_limits<Seconds>::infinity();

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// One direction of a device's link: a copy first waits for the latency, then moves.
struct Lane {
  enum class Phase { idle, waiting, moving };
  Phase phase = Phase::idle;
  double capacity = 0, rate = 0;  // bytes per second
  Seconds wait_end = 0;
  Bytes left = 0, size = 0;
  int block = -1;

  Seconds next_event(Seconds now) const {
    if (phase == Phase::idle) return never;
    return phase == Phase::waiting ? wait_end : now + left / rate;
  }
};

// A device at work.  Positions count the device's own blocks.
struct DeviceRun {
  std::vector<int> blocks;
  Lane in, out;
  std::size_t next_in = 0, next_compute = 0, next_out = 0, computed = 0;
  int computing = -1;
  Seconds compute_end = never;
  Seconds part_latency = 0;
};

class Simulation {
 public:
  Simulation(const Operation& operation, const Machine& machine, const CostTable& costs,
             const TaskList& tasks)
      : operation_(operation),
        machine_(machine),
        costs_(costs),
        tasks_(tasks),
        copies_(detail::copies_of(operation, machine, tasks)),
        devices_(machine.devices.size()) {
    const std::size_t units = machine.units.size();
    line_.blocks.resize(tasks.blocks.size());
    line_.unit_compute.assign(units, 0);
    line_.unit_finish.assign(units, 0);
    line_.device_in.assign(devices_.size(), 0);
    line_.device_out.assign(devices_.size(), 0);
    arrived_.assign(tasks.blocks.size(), false);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      devices_[d].in.capacity = machine.devices[d].h2d_bytes_per_s;
      devices_[d].out.capacity = machine.devices[d].d2h_bytes_per_s;
      devices_[d].part_latency = machine.devices[d].latency;
    }
  }

  Timeline run() {
    run_host_units();
    run_devices();
    for (std::size_t b = 0; b < tasks_.blocks.size(); ++b) account(b);
    return std::move(line_);
  }

 private:
  Seconds seconds(std::size_t b) const {
    const Block& block = tasks_.blocks[b];
    if (block.seconds > 0 || index(block.unit) >= costs_.units.size()) return block.seconds;
    return evaluate(costs_.units[index(block.unit)].model, operation_, block.box);
  }

  Seconds occupied(std::size_t b) const { return machine_.task_overhead + seconds(b); }

  void run_host_units() {
    using Free = std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>>;
    std::vector<Free> free(machine_.units.size());
    for (std::size_t b = 0; b < tasks_.blocks.size(); ++b) {
      const std::size_t u = index(tasks_.blocks[b].unit);
      if (machine_.units[u].device >= 0) {
        devices_[index(machine_.units[u].device)].blocks.push_back(static_cast<int>(b));
        continue;
      }
      if (free[u].empty())
        free[u] = Free(std::greater<>(), std::vector<Seconds>(std::max(1u, machine_.units[u].workers), 0));
      BlockTimes& times = line_.blocks[b];
      times.begin = free[u].top();
      times.end = times.output = times.begin + occupied(b);
      free[u].pop();
      free[u].push(times.end);
    }
  }

  void run_devices() {
    for (;;) {
      for (DeviceRun& device : devices_) start(device);
      share_host_link();
      Seconds next = never;
      for (const DeviceRun& device : devices_)
        next =
            std::min({next, device.compute_end, device.in.next_event(now_), device.out.next_event(now_)});
      if (next == never) return;
      const Seconds step = next - now_;
      now_ = next;
      for (DeviceRun& device : devices_) finish(device, step);
    }
  }

  // Starts whatever can start now.
  void start(DeviceRun& device) {
    while (device.in.phase == Lane::Phase::idle && device.next_in < device.blocks.size()) {
      const int block = device.blocks[device.next_in++];
      const BlockCopies& copies = copies_.blocks[index(block)];
      if (copies.parts_in > 0) begin_copy(device.in, block, copies.parts_in * device.part_latency + copies.scattered_in, copies.in);
    }
    if (device.computing < 0 && device.next_compute < device.blocks.size()) start_compute(device);
    while (device.out.phase == Lane::Phase::idle && device.next_out < device.computed) {
      const int block = device.blocks[device.next_out++];
      const BlockCopies& copies = copies_.blocks[index(block)];
      line_.blocks[index(block)].output = now_;
      if (copies.parts_out > 0)
        begin_copy(device.out, block, copies.parts_out * device.part_latency + copies.scattered_out, copies.out);
    }
  }

  void start_compute(DeviceRun& device) {
    const int block = device.blocks[device.next_compute];
    const int needs = copies_.blocks[index(block)].needs;
    if (needs >= 0 && !arrived_[index(needs)]) return;
    BlockTimes& times = line_.blocks[index(block)];
    if (needs >= 0) times.input = line_.blocks[index(needs)].input;
    times.begin = now_;
    times.end = device.compute_end = now_ + occupied(index(block));
    device.computing = block;
    ++device.next_compute;
  }

  void begin_copy(Lane& lane, int block, Seconds latency, Bytes size) {
    lane.block = block;
    lane.left = lane.size = size;
    lane.wait_end = now_ + latency;
    lane.phase = latency > 0 ? Lane::Phase::waiting : Lane::Phase::moving;
    moving_changed_ |= lane.phase == Lane::Phase::moving;
  }

  void finish(DeviceRun& device, Seconds step) {
    advance(device.in, step, [&](int block) {
      arrived_[index(block)] = true;
      line_.blocks[index(block)].input = now_;
    });
    advance(device.out, step, [&](int block) { line_.blocks[index(block)].output = now_; });
    if (device.compute_end > now_) return;
    device.computing = -1;
    device.compute_end = never;
    ++device.computed;
  }

  template <typename Done>
  void advance(Lane& lane, Seconds step, Done done) {
    if (lane.phase == Lane::Phase::idle) return;
    if (lane.phase == Lane::Phase::waiting) {
      if (lane.wait_end > now_) return;
      lane.phase = Lane::Phase::moving;
      moving_changed_ = true;
      return;
    }
    lane.left -= lane.rate * step;
    // Rounding must not leave a sliver that would need an event of its own.
    if (lane.left > 1e-12 * lane.size && now_ + lane.left / lane.rate > now_) return;
    lane.phase = Lane::Phase::idle;
    moving_changed_ = true;
    done(lane.block);
  }

  // Max-min fair rates: the narrowest links get what they can take, the rest share evenly.
  void share_host_link() {
    if (!moving_changed_) return;
    moving_changed_ = false;
    moving_.clear();
    double wanted = 0;
    for (DeviceRun& device : devices_)
      for (Lane* lane : {&device.in, &device.out})
        if (lane->phase == Lane::Phase::moving) {
          lane->rate = lane->capacity;
          wanted += lane->capacity;
          moving_.push_back(lane);
        }
    double left = machine_.host_link_bytes_per_s;
    if (left <= 0 || wanted <= left) return;
    std::sort(moving_.begin(), moving_.end(),
              [](const Lane* a, const Lane* b) { return a->capacity < b->capacity; });
    for (std::size_t i = 0; i < moving_.size(); ++i) {
      moving_[i]->rate = std::min(moving_[i]->capacity, left / static_cast<double>(moving_.size() - i));
      left -= moving_[i]->rate;
    }
  }

  void account(std::size_t b) {
    const std::size_t u = index(tasks_.blocks[b].unit);
    line_.unit_compute[u] += seconds(b);
    line_.unit_finish[u] = std::max(line_.unit_finish[u], line_.blocks[b].output);
    line_.makespan = std::max(line_.makespan, line_.blocks[b].output);
    if (machine_.units[u].device < 0) return;
    const std::size_t d = index(machine_.units[u].device);
    line_.device_in[d] += copies_.blocks[b].in;
    line_.device_out[d] += copies_.blocks[b].out;
  }

  const Operation& operation_;
  const Machine& machine_;
  const CostTable& costs_;
  const TaskList& tasks_;
  detail::CopyTable copies_;
  std::vector<DeviceRun> devices_;
  std::vector<char> arrived_;
  std::vector<Lane*> moving_;
  Timeline line_;
  Seconds now_ = 0;
  bool moving_changed_ = false;
};

}  // namespace

Timeline simulate(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const TaskList& tasks) {
  for (const Block& block : tasks.blocks)
    if (block.unit < 0 || index(block.unit) >= machine.units.size())
      throw Error(Errc::invalid, "a block names unit " + std::to_string(block.unit) + ", the machine has " +
                                     std::to_string(machine.units.size()) +
                                     " units: use an index into Machine::units");
  return Simulation(operation, machine, costs, tasks).run();
}

}  // namespace poas

// NVML by its stable C interface, so that neither its header nor the library is needed to build.
#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "meters/meter.hpp"
#include "poas/error.hpp"

namespace poas {
namespace {

constexpr double milli = 1e-3;
constexpr int success = 0;
using Device = void*;  // nvmlDevice_t
using Clock = std::chrono::steady_clock;

// The functions, null where the library lacks one.  The library stays open: closing it while a driver
// unloads crashes.
struct Nvml {
  int (*init)() = nullptr;
  int (*device_by_pci_bus_id)(const char*, Device*) = nullptr;
  int (*total_energy)(Device, unsigned long long*) = nullptr;  // mJ since the driver was loaded
  int (*power)(Device, unsigned*) = nullptr;                   // mW
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Nvml open_nvml(const std::string& file) {
  Nvml nvml;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nvml;
  find(library, "nvmlInit_v2", nvml.init);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", nvml.device_by_pci_bus_id);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", nvml.total_energy);
  find(library, "nvmlDeviceGetPowerUsage", nvml.power);
  return nvml;
}

[[noreturn]] void refuse() {
  throw Error(
      Errc::io,
      "cannot read the energy of a GPU: NVML answered before; look at nvidia-smi, then measure again");
}

class CounterMeter : public EnergyMeter {
 public:
  CounterMeter(const Nvml& nvml, Device device, unsigned long long begin)
      : nvml_(nvml), device_(device), begin_(begin) {}

  Joules read() override {
    unsigned long long now = 0;
    if (nvml_.total_energy(device_, &now) != success) refuse();
    return static_cast<double>(now - begin_) * milli;
  }

 private:
  Nvml nvml_;
  Device device_;
  unsigned long long begin_;
};

class SamplingMeter : public EnergyMeter {
 public:
  SamplingMeter(const Nvml& nvml, Device device)
      : nvml_(nvml),
        device_(device),
        last_(Clock::now()),
        thread_([this](const std::stop_token& stop) { sample(stop); }) {}

  Joules read() override {
    std::lock_guard lock(mutex_);
    if (!add()) refuse();
    return joules_;
  }

 private:
  void sample(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      add();  // a sample that fails is told by the next read()
      wake_.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
    }
  }
  // What was drawn since the last sample, as if at the present power; the mutex is held.
  bool add() {
    unsigned milliwatts = 0;
    if (nvml_.power(device_, &milliwatts) != success) return false;
    const auto now = Clock::now();
    joules_ += milliwatts * milli * std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return true;
  }

  Nvml nvml_;
  Device device_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  Joules joules_ = 0;
  Clock::time_point last_;
  std::jthread thread_;  // the last member: it ends before the others go
};

}  // namespace

std::unique_ptr<EnergyMeter> nvml_meter(const std::string& pci_bus_id, const std::string& library) {
  const Nvml nvml = open_nvml(library);
  Device device = nullptr;
  if (!nvml.init || !nvml.device_by_pci_bus_id || nvml.init() != success ||
      nvml.device_by_pci_bus_id(pci_bus_id.c_str(), &device) != success)
    return nullptr;
  unsigned long long energy = 0;
  if (nvml.total_energy && nvml.total_energy(device, &energy) == success)
    return std::make_unique<CounterMeter>(nvml, device, energy);
  unsigned power = 0;
  if (nvml.power && nvml.power(device, &power) == success)
    return std::make_unique<SamplingMeter>(nvml, device);
  return nullptr;
}

// StarPU brings the CUDA runtime with it if it was built for CUDA.
std::string pci_bus_id(int cuda_device) {
  int (*function)(char*, int, int) = nullptr;
  find(RTLD_DEFAULT, "cudaDeviceGetPCIBusId", function);
  char id[32] = "";
  return function && function(id, sizeof id, cuda_device) == success ? id : "";
}

}  // namespace poas

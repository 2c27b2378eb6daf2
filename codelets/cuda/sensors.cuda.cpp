// The library comes with the driver and not with the toolkit, so it is looked for at run time.
#include "cuda/sensors.cuda.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace poas::codelets {
namespace {

constexpr int clock_of_multiprocessors = 1;  // NVML_CLOCK_SM
constexpr int length_of_bus_id = 16;         // "0000:05:00.0" and its end

// Calls a function of the library by name; a library without it answers like a failed call.
template <typename... Arguments>
bool call(void* library, const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function && function(arguments...) == 0;
}

}  // namespace

Sensors::Sensors() {
  int device = 0;
  char bus_id[length_of_bus_id] = "";
  // CUDA may count devices in another order than the library, or see some of them only.
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetPCIBusId(bus_id, length_of_bus_id, device) != cudaSuccess)
    return;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return;
  if (call(library, "nvmlInit_v2")) {
    if (call<const char*, void**>(library, "nvmlDeviceGetHandleByPciBusId_v2", bus_id, &device_)) {
      library_ = library;
      return;
    }
    call(library, "nvmlShutdown");
  }
  dlclose(library);
}

Sensors::~Sensors() {
  if (!library_) return;
  call(library_, "nvmlShutdown");
  dlclose(library_);
}

unsigned Sensors::megahertz() const {
  unsigned value = 0;
  const bool known = library_ && call(library_, "nvmlDeviceGetClockInfo", device_, clock_of_multiprocessors, &value);
  return known ? value : 0;
}

unsigned Sensors::watts() const {
  unsigned milliwatts = 0;
  const bool known = library_ && call(library_, "nvmlDeviceGetPowerUsage", device_, &milliwatts);
  return known ? milliwatts / 1000 : 0;
}

}  // namespace poas::codelets

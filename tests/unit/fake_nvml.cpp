// Stands in for libnvidia-ml.so.1: one GPU with an energy counter, one without.
#include <cstring>

namespace {
int counting, sampled;  // their addresses are the devices
unsigned long long millijoules = 1'000'000;
constexpr int success = 0, not_supported = 3, not_found = 6;
}  // namespace

extern "C" {

int nvmlInit_v2() { return success; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  if (std::strcmp(id, "0000:05:00.0") == 0) return *device = &counting, success;
  if (std::strcmp(id, "0000:06:00.0") == 0) return *device = &sampled, success;
  return not_found;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* value) {
  if (device != &counting) return not_supported;
  *value = millijoules;
  millijoules += 250'000;
  return success;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* value) {
  *value = 100'000;
  return device == &sampled ? success : not_supported;
}
}

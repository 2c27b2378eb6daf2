// Meters of energy: the counters of processors and GPUs behind one interface.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "poas/operation.hpp"

namespace poas {

// Not thread safe.
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  // What was drawn since the meter was made.  Counters move in steps, those of GPUs every 10 to 100 ms, and
  // processors' start again from 0 after some minutes: read more often than that.  Throws Error(io) if they
  // can no longer be read.
  virtual Joules read() = 0;
};

// All processor packages, by the RAPL counters that Linux shows under /sys/class/powercap (Intel and AMD);
// without memory.  nullptr if there are none or one may not be read: by default only root may.
std::unique_ptr<EnergyMeter> rapl_meter(const std::filesystem::path& powercap = "/sys/class/powercap");

// The NVIDIA GPU with this PCI bus id, by NVML, which is opened when needed: its energy counter, or on GPUs
// before Volta, which have none, its power sampled every 20 ms.  nullptr if the library, the GPU or both
// counters are missing.
std::unique_ptr<EnergyMeter> nvml_meter(const std::string& pci_bus_id,
                                        const std::string& library = "libnvidia-ml.so.1");
// The PCI bus id of a CUDA device, numbered as in this process (CUDA_VISIBLE_DEVICES counts); "" if this
// process has no CUDA runtime or no such device.
std::string pci_bus_id(int cuda_device);

}  // namespace poas

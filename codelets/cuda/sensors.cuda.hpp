// Clock and power of a GPU.
#pragma once

namespace poas::codelets {

// What NVIDIA's management library (NVML) says of the present CUDA device; zeros without it.
class Sensors {
 public:
  Sensors();
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  unsigned megahertz() const;  // of the multiprocessors
  unsigned watts() const;

 private:
  void* library_ = nullptr;  // null if it or the device was not found
  void* device_ = nullptr;
};

}  // namespace poas::codelets

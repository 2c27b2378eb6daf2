// Times of launches on a stream, between events on the device.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

#include "cuda/check.cuda.hpp"

namespace poas::codelets {

// `Launch` queues one launch on the stream, which has nothing else to do.  Throws std::runtime_error.
class LaunchTimer {
 public:
  static constexpr int count = 5;  // batches

  explicit LaunchTimer(cudaStream_t stream) : stream_(stream) {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "event");
  }
  ~LaunchTimer() {
    cudaStreamSynchronize(stream_);  // after an error the gate may still look at open_
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  // Seconds of one launch, the host's share included.
  template <typename Launch>
  double once(Launch launch) {
    record(0);
    launch();
    record(1);
    check(cudaStreamSynchronize(stream_), "launch");
    return seconds(0);
  }

  // Mean seconds of a launch in each batch of `launches`.  The device begins when all are queued, so that the host's
  // time for a launch does not show.
  template <typename Launch>
  std::array<double, count> batches(int launches, Launch launch) {
    {
      const Gate gate(open_, stream_);
      record(0);
      for (std::size_t i = 1; i <= count; ++i) {
        for (int j = 0; j < launches; ++j) launch();
        record(i);
      }
    }
    check(cudaStreamSynchronize(stream_), "launch");
    std::array<double, count> times;
    for (std::size_t i = 0; i < count; ++i) times[i] = seconds(i) / launches;
    return times;
  }

 private:
  // Holds the stream back from construction to destruction.
  struct Gate {
    Gate(std::atomic<bool>& open, cudaStream_t stream) : open_(open) {
      open_ = false;
      check(cudaLaunchHostFunc(stream, wait, &open_), "gate");
    }
    ~Gate() { open_ = true; }
    static void wait(void* open) {
      while (!*static_cast<std::atomic<bool>*>(open)) std::this_thread::yield();
    }
    std::atomic<bool>& open_;
  };

  void record(std::size_t i) { check(cudaEventRecord(events_[i], stream_), "event"); }
  double seconds(std::size_t first) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[first], events_[first + 1]), "event");
    return milliseconds * 1e-3;
  }

  cudaStream_t stream_;
  std::atomic<bool> open_{true};
  std::array<cudaEvent_t, count + 1> events_{};
};

}  // namespace poas::codelets

// Where workers without work sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace poas::edge {

// StarPU's workers poll without end.  Cores that do so take memory bandwidth and, on a virtual machine, time from the one
// that drives a GPU: beside 15 of them copies took 1.6 times as long.  So an idle worker sleeps here until it is woken,
// and looks around now and then for what StarPU itself has for it.
class IdleSleep {
 public:
  // The worker found nothing; true if that has been so for long enough to sleep.
  bool nothing(double now) {
    if (idle_since_ == 0) idle_since_ = now;
    return now - idle_since_ >= patience;
  }
  // The worker has something to do.
  void something() { idle_since_ = 0; }
  // The worker sleeps, unless `found` says that there is something.
  template <typename Found>
  void sleep(Found found) {
    std::unique_lock lock(mutex_);
    asleep_.store(true);
    if (!found()) condition_.wait_for(lock, look_around);
    asleep_.store(false);
  }
  // From any thread, after what the worker is to find is there.
  void wake() {
    if (!asleep_.load()) return;
    const std::lock_guard lock(mutex_);
    condition_.notify_one();
  }

 private:
  static constexpr double patience = 300;                       // us
  static constexpr std::chrono::microseconds look_around{500};

  double idle_since_ = 0;   // us, 0: it is not
  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable condition_;
};

}  // namespace poas::edge

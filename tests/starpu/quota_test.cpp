// A quota of processor time is no set of cores: StarPU sees them all, and they are slow.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/median.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

namespace fs = std::filesystem;

// A control group (version 1, which takes single threads) that may use a part of one core.
class Quota {
 public:
  explicit Quota(double cores) {
    std::error_code ignored;
    const fs::path root = fs::exists("/sys/fs/cgroup/cpu/tasks", ignored) ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup/cpu,cpuacct";
    folder_ = root / ("poas-test-" + std::to_string(getpid()));
    constexpr int period_us = 10000;  // short beside a block
    if (fs::create_directory(folder_, ignored) && write("cpu.cfs_period_us", period_us) &&
        write("cpu.cfs_quota_us", static_cast<int>(cores * period_us)))
      return;
    why_ = "no control group with a quota at " + root.string() + ": " + std::strerror(errno);
  }
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;
  ~Quota() {
    std::error_code ignored;
    fs::remove(folder_, ignored);
  }
  const std::string& why_not() const { return why_; }
  bool take_this_thread() const { return write("tasks", gettid()); }

 private:
  bool write(const char* name, int value) const { return static_cast<bool>(std::ofstream(folder_ / name) << value << std::flush); }

  fs::path folder_;
  std::string why_;
};

void take_this_worker(void* quota) { EXPECT_TRUE(static_cast<const Quota*>(quota)->take_this_thread()); }

void multiply(unsigned count) {
  Product<float> product({1000, 1000, 1000, 'N', 'N', 1, 0});
  for (unsigned i = 0; i < count; i++) {
    ASSERT_EQ(product.submit(), 0);
    starpu_task_wait_for_all();
  }
  product.unregister();
  EXPECT_TRUE(product.right());
}

// The median over the last tasks of what `of` says of the CPU unit.
template <class Of>
double lately(const Runtime& runtime, Of of) {
  constexpr std::size_t last = 9;
  const auto records = runtime.records();
  std::vector<double> values;
  for (std::size_t i = records.size() - last; i < records.size(); ++i)
    for (const auto& unit : records[i]["plan"]["units"])
      if (unit["name"] == "cpu") values.push_back(of(unit));
  return poas::median(values);
}

TEST(Quota, TheModelLearnsTheRateAndTheSplitFollows) {
  Quota quota(0.1);
  if (!quota.why_not().empty()) GTEST_SKIP() << quota.why_not();
  Runtime runtime;
  ASSERT_EQ(runtime.status(), 0);
  const auto share = [](const auto& unit) { return unit["share"].template get<double>(); };
  const auto predicted_over_measured = [](const auto& unit) {
    return unit["predicted_seconds"].template get<double>() / unit["measured_seconds"].template get<double>();
  };
  multiply(30);
  const double before = lately(runtime, share);
  starpu_execute_on_each_worker(take_this_worker, &quota, STARPU_CPU);
  multiply(40);
  const double after = lately(runtime, share), truth = lately(runtime, predicted_over_measured);
  std::printf("share of the CPU: %.3f, with a tenth of a core %.3f, predicted/measured %.2f\n", before, after, truth);
  EXPECT_LT(after, 0.8 * before);
  EXPECT_GT(truth, 0.5);
  EXPECT_LT(truth, 2);
  runtime.stop();
}

}  // namespace
}  // namespace poas_test

// What is learned while tasks run, on its way to the model file and back; folders and files that do not serve.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "../support/scratch.hpp"
#include "poas/learn.hpp"
#include "poas/runtime.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

namespace fs = std::filesystem;
using poas::test::Scratch;

const Shape large{600, 700, 600, 'N', 'N', 1, 0};  // blocks of it tell something
const poas::ModelKey cpu_key{"cpu", "gemm", "openblas-fp32", poas::Type::fp32};

const char* const host = "here";

fs::path file_in(const fs::path& folder) { return poas::model_file(folder, host); }

// Multiplies in a process of that host, stops StarPU, and returns what was written to stderr meanwhile.
std::string multiply(Environment environment, unsigned count = 8) {
  environment.emplace("STARPU_HOSTNAME", host);
  testing::internal::CaptureStderr();
  {
    Runtime runtime(std::move(environment));
    EXPECT_EQ(runtime.status(), 0);
    Product<float> product(large);
    for (unsigned i = 0; i < count; i++) {
      EXPECT_EQ(product.submit(), 0);
      starpu_task_wait_for_all();
    }
    product.unregister();
    EXPECT_TRUE(product.right());
  }
  return testing::internal::GetCapturedStderr();
}

// Models of this host that say: a flop takes so long on the CPU.
poas::Models measured(double seconds_per_flop) {
  poas::Models models;
  models.host = host;
  models.when = "2024-01-01";
  poas::TimeModel model;
  model.seconds_per_flop = seconds_per_flop;
  model.samples = 9;
  models.times[cpu_key] = model;
  return models;
}

TEST(Stored, GuessesThatRanAreKnownToTheNextProcess) {
  const Scratch scratch;
  const fs::path folder = scratch / "three/levels/deep";
  const std::string log = multiply({{"POAS_MODEL_DIR", folder.string()}});
  EXPECT_EQ(lines_with(log, "poas:"), lines_with(log, "guess")) << log;
  const auto models = poas::load_models(file_in(folder));
  ASSERT_TRUE(models);
  EXPECT_EQ(models->host, host);
  EXPECT_TRUE(models->times.empty());
  ASSERT_EQ(models->learned.count(cpu_key), 1u);
  const auto& learned = models->learned.at(cpu_key);
  EXPECT_GT(learned.factor, 0);
  EXPECT_GE(learned.tasks, 5u);
  EXPECT_EQ(learned.when.size(), std::string("2024-01-01").size());
}

TEST(Stored, WhatWasLearnedIsUsedFromTheFirstTask) {
  const Scratch scratch;
  poas::Models models = measured(1e-9);
  models.learned[cpu_key] = {models.times.at(cpu_key), 3, 50, "2024-01-02"};
  poas::save_models(file_in(scratch.path()), models);
  Runtime runtime(Environment{{"POAS_MODEL_DIR", scratch.path().string()}, {"STARPU_HOSTNAME", host}});
  ASSERT_EQ(runtime.status(), 0);
  const poas::Models now = poas::current_models();
  EXPECT_DOUBLE_EQ(now.times.at(cpu_key).seconds_per_flop, 3e-9);
  EXPECT_DOUBLE_EQ(now.learned.at(cpu_key).factor, 3);
  EXPECT_EQ(now.learned.at(cpu_key).tasks, 50u);
}

TEST(Stored, WithoutTasksNothingIsWritten) {
  const Scratch scratch;
  { Runtime runtime(Environment{{"POAS_MODEL_DIR", (scratch / "models").string()}}); }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

// A model that a program brought is the program's.
TEST(Stored, WhatIsLearnedOfAProgramsModelsIsNotStored) {
  const Scratch scratch;
  poas::use_models(measured(1e-12));
  multiply({{"POAS_MODEL_DIR", scratch.path().string()}});
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

// The model says a hundredth of what a core needs.
TEST(Stored, AModelThatPartsFromTheWorldIsNamedOnceAndToldToPrograms) {
  const Scratch scratch;
  poas::save_models(file_in(scratch.path()), measured(1e-12));
  const Environment environment{{"POAS_MODEL_DIR", scratch.path().string()}, {"POAS_UNITS", "cpu"}, {"POAS_SPLIT", "never"}};
  const std::string log = multiply(environment, 25);
  EXPECT_EQ(lines_with(log, "times as long as"), 1u) << log;
  EXPECT_EQ(lines_with(log, "poas:"), 1u) << log;
  const auto now = poas::current_models().learned;
  ASSERT_EQ(now.count(cpu_key), 1u);
  EXPECT_GT(now.at(cpu_key).factor, 2);
  EXPECT_TRUE(poas::parted(now.at(cpu_key)));
  const auto stored = poas::load_models(file_in(scratch.path()));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->times, measured(1e-12).times);
  EXPECT_TRUE(poas::parted(stored->learned.at(cpu_key)));
}

TEST(Stored, ModelsOfAnotherHostAreRefusedOnceAndLearnedAnew) {
  const Scratch scratch;
  poas::Models models = measured(1e-9);
  models.host = "there";
  poas::save_models(file_in(scratch.path()), models);
  const std::string log = multiply({{"POAS_MODEL_DIR", scratch.path().string()}});
  EXPECT_EQ(lines_with(log, "'there'"), 1u) << log;
  const auto now = poas::load_models(file_in(scratch.path()));
  ASSERT_TRUE(now);
  EXPECT_EQ(now->host, host);
  EXPECT_TRUE(now->times.empty());
  EXPECT_EQ(now->learned.count(cpu_key), 1u);
}

TEST(Stored, ABrokenFileIsRefusedOnceAndLearnedAnew) {
  const std::string whole = poas::to_json(measured(1e-9));
  const Scratch scratch;
  std::ofstream(file_in(scratch.path())) << whole.substr(0, whole.size() / 2);
  const std::string log = multiply({{"POAS_MODEL_DIR", scratch.path().string()}});
  EXPECT_EQ(lines_with(log, file_in(scratch.path()).string()), 1u) << log;
  EXPECT_EQ(poas::load_models(file_in(scratch.path()))->learned.count(cpu_key), 1u);
}

// A newer poas may still want it.
TEST(Stored, AFileOfAnotherVersionIsRefusedOnceAndLeftAlone) {
  const Scratch scratch;
  const std::string text = "{\"version\": 2}";
  std::ofstream(file_in(scratch.path())) << text;
  const std::string log = multiply({{"POAS_MODEL_DIR", scratch.path().string()}});
  EXPECT_EQ(lines_with(log, "version 2"), 1u) << log;
  EXPECT_EQ(fs::file_size(file_in(scratch.path())), text.size());
}

TEST(Stored, ModelsOfAnotherProductInADevicesPlaceAreRefusedOnce) {
  const Scratch scratch;
  const Environment environment{{"POAS_MODEL_DIR", scratch.path().string()}, {"STARPU_HOSTNAME", host}};
  poas::Models models = measured(1e-9);
  {
    Runtime runtime(Environment{{"POAS_MODEL_DIR", (scratch / "none").string()}, {"STARPU_HOSTNAME", host}});
    ASSERT_EQ(runtime.status(), 0);
    models.machine = poas::probe();
  }
  ASSERT_FALSE(models.machine->devices.empty());
  if (models.machine->devices[0].product.empty()) GTEST_SKIP() << "StarPU does not name the product of its OpenCL device";
  models.machine->devices[0].product = "Maker Card 7";
  const poas::ModelKey device_key{models.machine->devices[0].name, "gemm", "clblast-fp32", poas::Type::fp32};
  models.times[device_key] = models.times.at(cpu_key);
  poas::use_models(models);
  testing::internal::CaptureStderr();
  {
    Runtime runtime(environment);
    poas::probe();
    poas::probe();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with(log, "Maker Card 7"), 1u) << log;
  const auto now = poas::current_models().times;
  EXPECT_EQ(now.count(device_key), 0u);
  EXPECT_EQ(now.count(cpu_key), 1u);
}

// --- nowhere to write ------------------------------------------------------------------------------

// A file system of so many bytes in a folder, while it lives.
class SmallDisk {
 public:
  SmallDisk(const fs::path& folder, const char* options, unsigned long flags = 0) : folder_(folder) {
    fs::create_directories(folder);
    mounted_ = ::mount("none", folder.c_str(), "tmpfs", flags, options) == 0;
    if (!mounted_) why_ = std::strerror(errno);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& why() const { return why_; }

 private:
  fs::path folder_;
  bool mounted_ = false;
  std::string why_;
};

// The models stay in memory, one line apart from that of the guess says so.
void expect_kept_in_memory(const std::string& log) {
  EXPECT_EQ(lines_with(log, "poas:") - lines_with(log, "guess"), 1u) << log;
  EXPECT_EQ(poas::current_models().learned.count(cpu_key), 1u);
}

TEST(Stored, AFullDiskIsSaidOnce) {
  const Scratch scratch;
  const SmallDisk disk(scratch / "disk", "size=16k");
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted: " << disk.why();
  std::ofstream filler(scratch / "disk/filler");
  for (int i = 0; i < 64; ++i) filler << std::string(1024, 'x') << std::flush;
  expect_kept_in_memory(multiply({{"POAS_MODEL_DIR", (scratch / "disk").string()}}));
  EXPECT_FALSE(fs::exists(file_in(scratch / "disk")));
}

TEST(Stored, AReadOnlyFolderIsSaidOnce) {
  const Scratch scratch;
  const SmallDisk disk(scratch / "disk", "size=16k", MS_RDONLY);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted: " << disk.why();
  expect_kept_in_memory(multiply({{"POAS_MODEL_DIR", (scratch / "disk").string()}}));
}

// Without a device, whose driver keeps its kernels at home.
TEST(Stored, NoHomeIsSaidOnce) {
  expect_kept_in_memory(multiply({{"POAS_MODEL_DIR", ""}, {"XDG_DATA_HOME", ""}, {"HOME", ""}, {"STARPU_NOPENCL", "0"}}));
}

TEST(Stored, AHomeThatIsNotThereIsSaidOnce) {
  expect_kept_in_memory(multiply({{"POAS_MODEL_DIR", ""}, {"XDG_DATA_HOME", ""}, {"HOME", "/proc/nonexistent"}, {"STARPU_NOPENCL", "0"}}));
}

TEST(Stored, AFileInPlaceOfAFolderIsSaidOnce) {
  const Scratch scratch;
  std::ofstream(scratch / "file") << "no folder";
  expect_kept_in_memory(multiply({{"POAS_MODEL_DIR", (scratch / "file").string()}}));
}

TEST(Stored, ALockThatSomebodyHoldsIsSaidOnce) {
  const Scratch scratch;
  const int holder = ::open((file_in(scratch.path()).string() + ".lock").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  expect_kept_in_memory(multiply({{"POAS_MODEL_DIR", scratch.path().string()}}));
  EXPECT_FALSE(fs::exists(file_in(scratch.path())));
  ::close(holder);
}

// Fifty shapes that nobody measured: no calibration, one line in all, and each is split.
TEST(Stored, FiftyShapesAreSplitWithoutAWordAfterTheFirst) {
  const Scratch scratch;
  testing::internal::CaptureStderr();
  {
    Runtime runtime(Environment{{"POAS_MODEL_DIR", scratch.path().string()}});
    for (std::uint64_t n = 100; n < 150; n++) {
      Product<float> product({n, 2 * n, n / 2, 'N', 'N', 1, 0}, static_cast<unsigned>(n));
      ASSERT_EQ(product.submit(), 0);
      product.unregister();
      ASSERT_TRUE(product.right());
    }
    expect_split(runtime, 50);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with(log, "guess"), 1u) << log;
  EXPECT_EQ(lines_with(log, "poas:"), 1u) << log;
  EXPECT_EQ(lines_with(log, "calibrated enough"), 0u) << log;
}

}  // namespace
}  // namespace poas_test

// Meters of energy: a powercap tree written by the test, a stand-in for NVML, and what readings become.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "meters/meter.hpp"
#include "meters/readings.hpp"
#include "poas/error.hpp"

namespace poas {
namespace {

namespace fs = std::filesystem;

class Rapl : public testing::Test {
 protected:
  Rapl() : root_(fs::temp_directory_path() / ("poas-powercap-" + std::to_string(getpid()))) {
    fs::create_directories(root_);
  }
  ~Rapl() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(root_ / file) << text << "\n";
  }
  void set(const std::string& zone, std::uint64_t micro_joules) const {
    write(zone + "/energy_uj", std::to_string(micro_joules));
  }
  void add_zone(const std::string& zone, const std::string& name, std::uint64_t now,
                std::uint64_t range) const {
    fs::create_directories(root_ / zone);
    write(zone + "/name", name);
    write(zone + "/max_energy_range_uj", std::to_string(range));
    set(zone, now);
  }
  std::unique_ptr<EnergyMeter> meter() const { return rapl_meter(root_); }

  fs::path root_;
};

TEST_F(Rapl, CountsFromWhenItWasMade) {
  add_zone("intel-rapl:0", "package-0", 5'000'000, 262'143'328'850);
  const auto one = meter();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->read(), 0);
  set("intel-rapl:0", 7'500'000);
  EXPECT_DOUBLE_EQ(one->read(), 2.5);
  EXPECT_DOUBLE_EQ(one->read(), 2.5);
}

TEST_F(Rapl, PackagesAreAddedAndNothingElse) {
  add_zone("intel-rapl:0", "package-0", 0, 1'000'000'000);
  add_zone("intel-rapl:1", "package-1", 100, 1'000'000'000);
  add_zone("intel-rapl:0:0", "core", 0, 1'000'000'000);          // a part of package 0
  add_zone("intel-rapl:2", "psys", 0, 1'000'000'000);            // the board with both packages
  add_zone("intel-rapl-mmio:0", "package-0", 0, 1'000'000'000);  // package 0 by another path
  const auto both = meter();
  ASSERT_TRUE(both);
  set("intel-rapl:0", 3'000'000);
  set("intel-rapl:1", 4'000'100);
  for (const char* other : {"intel-rapl:0:0", "intel-rapl:2", "intel-rapl-mmio:0"}) set(other, 900'000'000);
  EXPECT_DOUBLE_EQ(both->read(), 7);
}

TEST_F(Rapl, CountersStartAgainFromZero) {
  add_zone("intel-rapl:0", "package-0", 9'000'000, 10'000'000);
  const auto one = meter();
  ASSERT_TRUE(one);
  set("intel-rapl:0", 2'000'000);
  EXPECT_DOUBLE_EQ(one->read(), 3);
  set("intel-rapl:0", 9'500'000);
  EXPECT_DOUBLE_EQ(one->read(), 10.5);
  set("intel-rapl:0", 1'000'000);
  EXPECT_DOUBLE_EQ(one->read(), 12);
}

TEST_F(Rapl, NoMeterWhereACounterIsMissing) {
  EXPECT_FALSE(meter()) << "an empty folder";
  EXPECT_FALSE(rapl_meter(root_ / "nowhere"));
  add_zone("intel-rapl:0", "package-0", 0, 1'000'000);
  add_zone("intel-rapl:1", "package-1", 0, 1'000'000);
  EXPECT_TRUE(meter());
  // As for a user who may not read it; root may read everything.
  fs::remove(root_ / "intel-rapl:1/energy_uj");
  EXPECT_FALSE(meter()) << "one package of two would be taken for all";
}

TEST_F(Rapl, ACounterThatGoesAwayIsAnError) {
  add_zone("intel-rapl:0", "package-0", 0, 1'000'000);
  const auto one = meter();
  fs::remove(root_ / "intel-rapl:0/energy_uj");
  EXPECT_THROW(one->read(), Error);
}

TEST(NvmlMeter, IsNoneWithoutTheLibraryOrItsFunctions) {
  EXPECT_FALSE(nvml_meter("0000:01:00.0", "libnvidia-ml-not-there.so.1"));
  EXPECT_FALSE(nvml_meter("0000:01:00.0", "libm.so.6"));
}

// The stand-in counts 250 J with every call after the first, as of 1000 J; see fake_nvml.cpp.
TEST(NvmlMeter, ReadsTheEnergyCounterOfTheGpuAsked) {
  EXPECT_FALSE(nvml_meter("0000:01:00.0", FAKE_NVML)) << "another GPU";
  const auto meter = nvml_meter("0000:05:00.0", FAKE_NVML);
  ASSERT_TRUE(meter);
  EXPECT_DOUBLE_EQ(meter->read(), 250);
  EXPECT_DOUBLE_EQ(meter->read(), 500);
}

// One of its GPUs has no counter and draws 100 W.
TEST(NvmlMeter, SamplesThePowerWhereThereIsNoCounter) {
  const auto meter = nvml_meter("0000:06:00.0", FAKE_NVML);
  ASSERT_TRUE(meter);
  const auto begin = std::chrono::steady_clock::now();
  const Joules first = meter->read();
  usleep(50'000);
  const Joules drawn = meter->read() - first;
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(drawn, 100 * 0.05 * 0.99);
  EXPECT_LE(drawn, 100 * passed);
}

TEST(PciBusId, IsEmptyWithoutCuda) { EXPECT_EQ(pci_bus_id(0), ""); }

// --- readings --------------------------------------------------------------------------------------

// A node that draws `idle` W and each worker `own` W more for as long as it computes; `busy` workers on
// average.
Readings readings_of(Watts idle, Watts own, double busy, Seconds step, Seconds grain) {
  Readings readings;
  for (Seconds now = 0; !readings.enough() && now < 100; now += step) {
    const Seconds counted = std::floor(now / grain) * grain;  // when the counter moved last
    readings.add(now, (idle + own * busy) * counted, busy * now);
  }
  return readings;
}

TEST(Readings, GiveThePowerOfOneWorkerAboveIdle) {
  const auto power = readings_of(40, 7, 3.5, 1.0 / 64, 1.0 / 1024).power(40);
  ASSERT_TRUE(power);
  EXPECT_NEAR(power->watts, 7, 1e-9);
  EXPECT_NEAR(power->relative_error, 0, 1e-9);
  EXPECT_TRUE(power->measured);
}

TEST(Readings, StepsOfTheCounterAreNoError) {
  // Steps of 1/8 s, readings every 1/128 s: a part of 0.3 s could else be off by 40 %.
  const auto power = readings_of(40, 200, 1, 1.0 / 128, 1.0 / 8).power(40);
  ASSERT_TRUE(power);
  EXPECT_NEAR(power->watts, 200, 200 * 2e-2);
}

TEST(Readings, TheErrorIsHalfTheSpreadOverTheMedian) {
  Readings readings;
  // The first reading moves nothing; then parts of 0.5 s of which the first, of 1000 W, warms up; 10, 12,
  // 16 W.
  readings.add(0, 0, 0);
  const double joules[] = {1, 501, 506, 512, 520};
  for (int i = 0; i < 5; i++) {
    EXPECT_FALSE(readings.enough());
    EXPECT_FALSE(readings.power(0));
    readings.add(0.5 * (i + 1), joules[i], 0.5 * (i + 1));
  }
  ASSERT_TRUE(readings.enough());
  const auto power = readings.power(0);
  ASSERT_TRUE(power);
  EXPECT_DOUBLE_EQ(power->watts, 12);
  EXPECT_DOUBLE_EQ(power->relative_error, 0.25);
}

TEST(Readings, LessThanIdleIsNothingAndUnsure) {
  const auto power = readings_of(40, 0, 1, 1.0 / 64, 1.0 / 1024).power(41);
  ASSERT_TRUE(power);
  EXPECT_EQ(power->watts, 0);
  EXPECT_EQ(power->relative_error, 1);
}

TEST(Readings, ACounterThatStandsStillGivesNothing) {
  Readings readings;
  for (int i = 0; i < 100; i++) readings.add(i, 7, i);
  EXPECT_FALSE(readings.enough());
  EXPECT_FALSE(readings.power(0));
}

}  // namespace
}  // namespace poas

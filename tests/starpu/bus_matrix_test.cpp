// What StarPU says of the links may be wrong: plans must be sound all the same.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "../support/scratch.hpp"
#include "poas/runtime.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

namespace fs = std::filesystem;
using poas::test::Scratch;

// A copy of StarPU's files of the bus where each number of a table of links becomes what `change` says.
void copy_bus(const fs::path& to, const std::string& table, const std::function<std::string(unsigned, unsigned)>& change) {
  const fs::path from = std::getenv("STARPU_PERF_MODEL_DIR");
  fs::copy(from, to, fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(to / "bus")) {
    if (entry.path().extension() != "." + table) continue;
    std::stringstream before;
    before << std::ifstream(entry.path()).rdbuf();
    std::ofstream after(entry.path());
    unsigned row = 0;
    for (std::string line; std::getline(before, line);) {
      std::istringstream numbers(line);
      std::string number;
      if (line[0] == '#') {
        after << line;
      } else {
        for (unsigned column = 0; numbers >> number; ++column)
          after << (column ? "\t" : "") << (number == "nan" ? number : change(row, column));
        ++row;
      }
      after << "\n";
    }
  }
}

struct Case {
  const char *name, *table, *diagonal, *others;
};
void PrintTo(const Case& one, std::ostream* stream) { *stream << one.name; }

class BusMatrix : public testing::TestWithParam<Case> {};

TEST_P(BusMatrix, SoundPlansAndRightResults) {
  const Scratch scratch;
  copy_bus(scratch / "starpu", GetParam().table, [&](unsigned row, unsigned column) {
    return row == column ? GetParam().diagonal : GetParam().others;
  });
  Runtime runtime(Environment{{"STARPU_PERF_MODEL_DIR", (scratch / "starpu").string()}});
  ASSERT_EQ(runtime.status(), 0);
  // What poas takes where StarPU knows nothing, in both tables: 10 us, 1 GB/s.
  const bool latencies = std::string(GetParam().table) == "latency";
  ASSERT_FALSE(poas::probe().devices.empty());
  for (const auto& device : poas::probe().devices) {
    EXPECT_TRUE(latencies ? device.latency == 10e-6 : device.latency > 0) << device.latency;
    EXPECT_TRUE(latencies ? device.h2d_bytes_per_s > 0 : device.h2d_bytes_per_s == 1e9) << device.h2d_bytes_per_s;
    EXPECT_TRUE(latencies ? device.d2h_bytes_per_s > 0 : device.d2h_bytes_per_s == 1e9) << device.d2h_bytes_per_s;
  }
  Product<float> product({300, 420, 64, 'N', 'N', 1, 1});
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  for (const auto& record : runtime.records()) {
    EXPECT_GT(record["plan"]["makespan"], 0);
    EXPECT_TRUE(std::isfinite(record["plan"]["makespan"].get<double>()));
  }
}

// "same rows": the device seen as the host's own memory.
INSTANTIATE_TEST_SUITE_P(, BusMatrix,
                         testing::Values(Case{"zero_latencies", "latency", "0", "0"},
                                         Case{"infinite_latencies", "latency", "0", "inf"},
                                         Case{"no_bandwidth", "bandwidth", "0", "0"},
                                         Case{"infinite_bandwidth", "bandwidth", "0", "inf"},
                                         Case{"same_rows", "bandwidth", "1000", "1000"}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace poas_test

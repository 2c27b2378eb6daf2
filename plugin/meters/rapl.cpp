#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <vector>

#include "meters/meter.hpp"
#include "poas/error.hpp"

namespace poas {
namespace {

namespace fs = std::filesystem;

constexpr double micro = 1e-6;

template <typename Value>
bool read_from(const fs::path& file, Value& value) {
  std::ifstream stream(file);
  return static_cast<bool>(stream >> value);
}

struct Package {
  fs::path counter;
  std::uint64_t range = 0, last = 0;  // uJ
  double total = 0;                   // uJ since the meter was made
};

// "intel-rapl:0" and not its parts "intel-rapl:0:1".  Other zones, such as that of the whole board, count
// packages again.
bool is_package(const fs::path& zone) {
  const std::string prefix = "intel-rapl:", file = zone.filename().string();
  if (file.rfind(prefix, 0) != 0) return false;
  if (!std::all_of(file.begin() + static_cast<long>(prefix.size()), file.end(),
                   [](unsigned char c) { return std::isdigit(c); }))
    return false;
  std::string name;
  return read_from(zone / "name", name) && name.rfind("package", 0) == 0;
}

class RaplMeter : public EnergyMeter {
 public:
  explicit RaplMeter(std::vector<Package> packages) : packages_(std::move(packages)) {}

  Joules read() override {
    double sum = 0;
    for (Package& package : packages_) {
      std::uint64_t now = 0;
      if (!read_from(package.counter, now))
        throw Error(Errc::io, "cannot read " + package.counter.string() +
                                  ": it could be read before; measure again as the same user");
      const bool wrapped = now < package.last;
      package.total +=
          static_cast<double>(wrapped ? package.range - package.last + now : now - package.last);
      package.last = now;
      sum += package.total;
    }
    return sum * micro;
  }

 private:
  std::vector<Package> packages_;
};

}  // namespace

std::unique_ptr<EnergyMeter> rapl_meter(const fs::path& powercap) {
  std::vector<Package> packages;
  std::error_code fault;
  for (const auto& zone : fs::directory_iterator(powercap, fault)) {
    if (!is_package(zone.path())) continue;
    Package package;
    package.counter = zone.path() / "energy_uj";
    if (!read_from(package.counter, package.last) ||
        !read_from(zone.path() / "max_energy_range_uj", package.range))
      return nullptr;  // a part of the packages would be taken for all
    packages.push_back(package);
  }
  if (packages.empty()) return nullptr;
  return std::make_unique<RaplMeter>(std::move(packages));
}

}  // namespace poas

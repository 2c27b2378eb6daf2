#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "models/training/train.hpp"
#include "poas/error.hpp"

namespace poas::training {
namespace {

constexpr std::pair<const char*, double> element_bytes[] = {{"fp64", 8}, {"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}};

double bytes_of(const std::string& type, const std::string& file) {
  for (const auto& [name, bytes] : element_bytes)
    if (type == name) return bytes;
  throw Error(Errc::parse, "'" + file + "' holds samples of type '" + type + "': known are fp64, fp32, tf32, fp16, bf16");
}

// "# NVIDIA H200, CUDA 13.0, 132 multiprocessors"
void read_head(const std::string& line, Table& table) {
  table.device = line.substr(2, line.find(',') - 2);
  std::istringstream last(line.substr(line.rfind(',') + 1));
  if (!(last >> table.multiprocessors)) table.multiprocessors = 1;
}

}  // namespace

Table read_table(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw Error(Errc::io, "cannot read '" + file + "': " + std::strerror(errno));
  Table table;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("# ", 0) == 0) {
      read_head(line, table);
      continue;
    }
    std::istringstream words(line);
    Sample sample;
    sample.extents.fill(1);
    auto& [m, n, k, d, e, f, g, h] = sample.extents;
    if (!(words >> table.type >> table.implementation >> m >> n >> k >> sample.seconds)) continue;  // names of columns
    const double rows = static_cast<double>(m), columns = static_cast<double>(n), depth = static_cast<double>(k);
    sample.work = 2 * rows * columns * depth;
    sample.bytes = bytes_of(table.type, file) * (rows * depth + depth * columns + rows * columns);
    table.samples.push_back(sample);
  }
  if (table.samples.empty()) throw Error(Errc::parse, "'" + file + "' holds no samples: give a table of gpu_samples gemm");
  return table;
}

}  // namespace poas::training

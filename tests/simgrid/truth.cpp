#include "truth.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace truth {
namespace {

std::uint64_t ceil_div(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step; }

Processor read_processor(const nlohmann::json& json, const char* rates, const std::string& type) {
  Processor processor;
  processor.name = json.at("name");
  processor.flops_per_s = json.at(rates).value(type, 0.0) * json.value("speed_factor", 1.0);
  processor.tile_m = json.at("tile").at(0);
  processor.tile_n = json.at("tile").at(1);
  processor.sms = json.value("sms", 1);
  processor.launch_seconds = json.at("launch_seconds");
  return processor;
}

Link read_link(const nlohmann::json& json) {
  return {json.at("h2d_bytes_per_s"), json.at("d2h_bytes_per_s"), json.at("latency_seconds"),
          json.at("memory_bytes")};
}

// The finaliser of SplitMix64: every bit of the input changes about half of the output.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Uniform in [-1, 1).
double deviation(std::uint64_t seed, const std::string& name, const Shape& shape) {
  std::uint64_t hash = mix(seed);
  for (const char letter : name) hash = mix(hash ^ static_cast<unsigned char>(letter));
  for (const std::uint64_t extent : {shape.m, shape.n, shape.k}) hash = mix(hash ^ extent);
  return static_cast<double>(hash >> 11) / static_cast<double>(1ull << 52) - 1;
}

}  // namespace

Node read(const std::string& file, const std::string& type) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read the truth file " + file);
  const auto json = nlohmann::json::parse(stream);
  Node node;
  node.name = json.at("name");
  node.cores = json.at("cpu").at("cores");
  node.cpu = read_processor(json.at("cpu"), "rate_flops_per_core", type);
  node.host_link_bytes_per_s = json.at("host_link_bytes_per_s");
  node.peer_bytes_per_s = json.at("peer_bytes_per_s");
  for (const auto& device : json.at("devices")) {
    node.devices.push_back(read_processor(device, "rate_flops", type));
    node.links.push_back(read_link(device));
  }
  return node;
}

double formula_seconds(const Processor& processor, const Shape& shape) {
  const std::uint64_t tiles = ceil_div(shape.m, processor.tile_m) * ceil_div(shape.n, processor.tile_n);
  const std::uint64_t padded = ceil_div(tiles, processor.sms) * processor.sms;
  const double tile_flops = 2.0 * static_cast<double>(processor.tile_m * processor.tile_n * shape.k);
  return processor.launch_seconds + static_cast<double>(padded) * tile_flops / processor.flops_per_s;
}

double seconds(const Node& node, const Processor& processor, const Shape& shape) {
  return formula_seconds(processor, shape) *
         (1 + node.spread * deviation(node.seed, processor.name, shape));
}

}  // namespace truth

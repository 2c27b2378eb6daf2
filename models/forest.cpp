#include "poas/forest.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "poas/error.hpp"

namespace poas {
namespace {

constexpr double leaf_unit = 1e-4;
constexpr std::size_t most_nodes = 1u << 20;

constexpr std::uint64_t tiles[][2] = {{64, 64},  {128, 64}, {64, 128}, {128, 128}, {128, 256},
                                      {256, 128}, {64, 256}, {256, 64}, {32, 64},   {32, 32}};
constexpr std::uint64_t most_alignment = 64;

float alignment(std::uint64_t extent, std::uint64_t most = most_alignment) {
  return static_cast<float>(std::min(extent & (~extent + 1), most));
}

[[noreturn]] void refuse(Errc code, const std::string& why) { throw Error(code, "a tree of a model " + why); }

// Next number of the text, which loses it.
double number(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) refuse(Errc::parse, "is cut short or holds what is no number");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Reads back as the same number.
std::string shortest(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

Features features_of(const Extents& extents, int ndims, unsigned parallel) {
  std::uint64_t rest = extents[2];
  for (int d = 3; d < ndims; ++d) rest *= extents[static_cast<std::size_t>(d)];
  const float m = static_cast<float>(extents[0]), n = static_cast<float>(extents[1]), k = static_cast<float>(rest);
  Features result;
  float* next = result.data();
  const float smaller = std::min(m, n);
  for (const float value : {m, n, k, m * n, m * k, n * k, m * n * k, m * k + k * n + m * n, std::min(smaller, k), smaller,
                            m / n, k / m, k / n})
    *next++ = value;
  for (const std::uint64_t extent : {extents[0], extents[1], rest}) *next++ = alignment(extent);
  *next++ = std::min(alignment(extents[0], 16), alignment(rest, 16));
  const float waves_per_tile = 1 / static_cast<float>(parallel);
  for (const auto& tile : tiles) {
    const auto rows = static_cast<float>((extents[0] + tile[0] - 1) / tile[0]);
    const auto columns = static_cast<float>((extents[1] + tile[1] - 1) / tile[1]);
    const float count = rows * columns, waves = count * waves_per_tile;
    *next++ = count * static_cast<float>(tile[0] * tile[1]) / (m * n);
    *next++ = std::ceil(waves) / waves;
    *next++ = waves;
  }
  for (const std::uint64_t remainder : {extents[0] % 128, extents[1] % 128, rest % 64, extents[0] % 256, extents[1] % 256})
    *next++ = static_cast<float>(remainder);
  return result;
}

Forest::Forest(const std::vector<std::string>& trees, unsigned parallel) : parallel_(parallel) {
  if (parallel == 0) refuse(Errc::invalid, "has waves of 0 tiles");
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const unsigned depth = add(trees[i]);
    if (i % abreast == 0) depths_.push_back(0);
    depths_.back() = std::max(depths_.back(), depth);
  }
  // Walks are always `abreast` trees wide: those that are missing are leaves of 0.
  if (trees.size() % abreast != 0) nodes_.push_back({});
}

// Inner nodes whose first subtree is being read wait on a stack for their second.
unsigned Forest::add(std::string_view text) {
  struct Waiting {
    std::size_t node;
    unsigned depth;
  };
  roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  std::vector<Waiting> waiting;
  unsigned depth = 0, deepest = 0;
  for (;;) {
    const double feature = number(text), value = number(text);
    if (feature != std::floor(feature) || feature < -1 || feature >= feature_count)
      refuse(Errc::invalid, "asks for a feature that does not exist");
    const bool leaf = feature < 0;
    if (leaf && std::abs(value * leaf_unit) > most_log) refuse(Errc::invalid, "has a leaf that is out of bounds");
    if (nodes_.size() >= most_nodes) refuse(Errc::invalid, "is too large");
    deepest = std::max(deepest, depth);
    if (!leaf) {
      waiting.push_back({nodes_.size(), depth++});
      nodes_.push_back({static_cast<float>(value), 0, 1, static_cast<std::uint8_t>(feature)});
      continue;
    }
    nodes_.push_back({static_cast<float>(value * leaf_unit), 0, 0, 0});
    if (waiting.empty()) break;
    const std::size_t distance = nodes_.size() - waiting.back().node;
    if (distance > std::numeric_limits<std::uint16_t>::max()) refuse(Errc::invalid, "is too large");
    nodes_[waiting.back().node].other = static_cast<std::uint16_t>(distance);
    depth = waiting.back().depth + 1;
    waiting.pop_back();
  }
  if (text.find_first_not_of(' ') != text.npos) refuse(Errc::parse, "goes on after its end");
  return deepest;
}

double Forest::predict(const Extents& extents, int ndims) const {
  const Features features = features_of(extents, ndims, parallel_);
  float sum = 0;
  for (std::size_t first = 0; first < roots_.size(); first += abreast) {
    std::array<const Node*, abreast> at;
    for (std::size_t i = 0; i < abreast; ++i)
      at[i] = first + i < roots_.size() ? &nodes_[roots_[first + i]] : &nodes_.back();
    for (unsigned step = 0; step < depths_[first / abreast]; ++step)
      for (const Node*& node : at) {
        // No branch: nobody could guess which way a tree goes.
        const unsigned less = 0u - static_cast<unsigned>(features[node->feature] < node->value);
        node += (node->next & less) | (node->other & ~less);
      }
    for (const Node* node : at) sum += node->value;
  }
  return std::clamp<double>(sum, -most_log, most_log);
}

std::vector<std::string> Forest::trees() const {
  std::vector<std::string> result;
  for (const std::uint32_t root : roots_) result.push_back(text(root));
  return result;
}

std::string Forest::text(std::size_t root) const {
  std::string result;
  int open = 1;  // subtrees still to come
  for (std::size_t i = root; open > 0; ++i) {
    const Node& node = nodes_[i];
    const bool leaf = node.next == 0;
    result += result.empty() ? "" : " ";
    result += leaf ? "-1 " + std::to_string(std::lround(node.value / leaf_unit))
                   : std::to_string(node.feature) + " " + shortest(node.value);
    open += leaf ? -1 : 1;
  }
  return result;
}

}  // namespace poas

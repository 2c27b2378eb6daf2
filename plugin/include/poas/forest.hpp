// Regression trees over the shape of a block.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "poas/operation.hpp"

namespace poas {

inline constexpr int feature_count = 52;
using Features = std::array<float, feature_count>;

// What decides how well a block fills a device: extents of the first three dimensions (the rest multiplied into the
// third) with their products and ratios, the power of two that divides each, how far they fill ten sizes of tiles, how
// far the tiles fill waves of `parallel`, and remainders.
Features features_of(const Extents& extents, int ndims, unsigned parallel);

// A sum of trees, as gradient boosting makes them (Friedman, Annals of Statistics 29(5), 2001): the logarithm of the
// factor by which a block takes longer than a simpler model says.
class Forest {
 public:
  // Trees in preorder, one text each: "feature threshold" of an inner node, then its two subtrees, less first;
  // "-1 value" of a leaf, value in units of 1e-4.  Throws Error(parse or invalid).
  Forest(const std::vector<std::string>& trees, unsigned parallel);

  // Thread safe, no allocation, under 1 us.  The result lies within +- most_log.
  double predict(const Extents& extents, int ndims) const;
  std::vector<std::string> trees() const;
  unsigned parallel() const { return parallel_; }
  bool operator==(const Forest&) const = default;

  static constexpr double most_log = 3;

 private:
  struct Node {
    float value = 0;           // threshold, or of a leaf the result
    std::uint16_t other = 0;   // distance to the second subtree; of a leaf 0, so that a walk stays there
    std::uint8_t next = 0;     // distance to the first: 1, of a leaf 0
    std::uint8_t feature = 0;
    bool operator==(const Node&) const = default;
  };
  static constexpr std::size_t abreast = 16;  // trees walked together, to wait for memory together

  // Appends the tree and returns its depth.
  unsigned add(std::string_view tree);
  std::string text(std::size_t root) const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
  std::vector<unsigned> depths_;              // of the deepest of each `abreast` trees
  unsigned parallel_ = 1;
};

}  // namespace poas

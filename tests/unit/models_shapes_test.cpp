// Random shapes: those of the tables that the shipped models were fitted to and judged by.
#include <gtest/gtest.h>

#include "models/training/train.hpp"
#include "poas/shapes.hpp"

namespace poas {
namespace {

class Tables : public ::testing::TestWithParam<std::pair<const char*, std::uint64_t>> {};

TEST_P(Tables, hold_the_shapes_of_their_seed) {
  const auto [table, seed] = GetParam();
  RandomShapes shapes(seed, 3);
  const std::string file = std::string(POAS_MODELS "/samples/h200-gemm-fp32-") + table + ".tsv";
  for (const Sample& sample : training::read_table(file).samples)
    ASSERT_EQ(shapes.next(), sample.extents);
}

INSTANTIATE_TEST_SUITE_P(H200, Tables,
                         ::testing::Values(std::pair("test", 1), std::pair("test2", 2), std::pair("train", 100)));

TEST(RandomShapes, of_one_dimension_are_long) {
  RandomShapes shapes(1, 1);
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    const Extents extents = shapes.next();
    ASSERT_GE(extents[0], 64u);
    ASSERT_LE(extents[0], std::uint64_t{1} << 28);
    ASSERT_EQ(extents[1], 1u);
    most = std::max(most, extents[0]);
  }
  EXPECT_GT(most, std::uint64_t{1} << 27);
}

}  // namespace
}  // namespace poas

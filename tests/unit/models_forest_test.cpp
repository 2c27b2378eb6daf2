// Trees: features by hand, sums by hand and by another evaluator, and texts that are no tree.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "poas/error.hpp"
#include "poas/forest.hpp"

namespace poas {
namespace {

Extents shape(std::uint64_t m, std::uint64_t n, std::uint64_t k) { return {m, n, k, 1, 1, 1, 1, 1}; }

TEST(Features, of_one_shape_as_worked_out_by_hand) {
  const Features f = features_of(shape(100, 60, 32), 3, 4);
  EXPECT_EQ(f[0], 100);
  EXPECT_EQ(f[1], 60);
  EXPECT_EQ(f[2], 32);
  EXPECT_EQ(f[6], 100.f * 60 * 32);
  EXPECT_EQ(f[8], 32);                          // the smallest extent
  EXPECT_EQ(f[9], 60);                          // of the first two
  EXPECT_EQ(f[13], 4);                          // 100 = 4 * 25
  EXPECT_EQ(f[14], 4);                          // 60 = 4 * 15
  EXPECT_EQ(f[15], 32);
  EXPECT_FLOAT_EQ(f[17], 2 * 64 * 64 / 6000.);  // 2 x 1 tiles of 64 x 64
  EXPECT_FLOAT_EQ(f[18], 2);                    // half a wave of 4 tiles costs a whole one
  EXPECT_FLOAT_EQ(f[19], 0.5);
  EXPECT_EQ(f[47], 100 % 128);
  EXPECT_EQ(f[51], 60);
}

TEST(Features, further_dimensions_count_into_the_third) {
  Extents seven = shape(8, 9, 10);
  seven[3] = 3, seven[6] = 2;
  EXPECT_EQ(features_of(seven, 7, 1), features_of(shape(8, 9, 60), 3, 1));
}

TEST(ForestTest, adds_up_its_trees) {
  const Forest one({"0 100.5 -1 1000 -1 -2000"}, 1);
  EXPECT_NEAR(one.predict(shape(100, 1, 1), 3), 0.1, 1e-7);
  EXPECT_NEAR(one.predict(shape(101, 1, 1), 3), -0.2, 1e-7);
  EXPECT_EQ(Forest({}, 1).predict(shape(5, 5, 5), 3), 0);
  // More than are walked together.
  std::vector<std::string> many(17, "1 7.5 2 3.5 -1 10 -1 100 -1 1000");
  EXPECT_NEAR(Forest(many, 1).predict(shape(1, 7, 3), 3), 17 * 0.001, 1e-6);
  EXPECT_NEAR(Forest(many, 1).predict(shape(1, 7, 4), 3), 17 * 0.01, 1e-6);
  EXPECT_NEAR(Forest(many, 1).predict(shape(1, 8, 4), 3), 17 * 0.1, 1e-6);
  many.assign(40, "-1 1000");
  EXPECT_EQ(Forest(many, 1).predict(shape(1, 1, 1), 3), Forest::most_log);
}

std::string random_tree(std::mt19937& random, int depth) {
  if (depth == 0 || random() % 4 == 0) return "-1 " + std::to_string(static_cast<int>(random() % 601) - 300);
  const std::string head = std::to_string(random() % feature_count) + " " + std::to_string(random() % 20000 / 4.0);
  return head + " " + random_tree(random, depth - 1) + " " + random_tree(random, depth - 1);
}

// Reads both subtrees, takes one.
double evaluate(std::istringstream& text, const Features& features) {
  int feature = 0;
  double value = 0;
  text >> feature >> value;
  if (feature < 0) return value * 1e-4;
  const double less = evaluate(text, features), other = evaluate(text, features);
  return features[static_cast<std::size_t>(feature)] < static_cast<float>(value) ? less : other;
}

TEST(ForestTest, agrees_with_a_plain_evaluator) {
  std::mt19937 random(5);
  std::vector<std::string> trees;
  for (int i = 0; i < 37; ++i) trees.push_back(random_tree(random, 1 + i % 12));
  const Forest forest(trees, 132);
  for (int i = 0; i < 1000; ++i) {
    const Extents extents = shape(1 + random() % 9000, 1 + random() % 9000, 1 + random() % 9000);
    double expected = 0;
    for (const std::string& tree : trees) {
      std::istringstream text(tree);
      expected += evaluate(text, features_of(extents, 3, 132));
    }
    ASSERT_NEAR(forest.predict(extents, 3), expected, 1e-5);
  }
}

TEST(ForestTest, tells_its_trees_as_they_were_read) {
  std::mt19937 random(6);
  std::vector<std::string> trees;
  for (int i = 0; i < 20; ++i) trees.push_back(random_tree(random, 6));
  const Forest forest(trees, 7);
  EXPECT_EQ(Forest(forest.trees(), 7), forest);
}

TEST(ForestTest, refuses_what_is_no_tree) {
  for (const char* text : {"", "0", "0 1", "0 1 -1 1", "0 1 -1 1 -1", "x 1", "-1 nan", "-1 inf", "-1 1 -1 1", "-1 1 x",
                           "52 1 -1 0 -1 0", "-2 1", "0.5 1 -1 0 -1 0", "-1 30001"})
    EXPECT_THROW(Forest({text}, 1), Error) << text;
  EXPECT_THROW(Forest({"-1 1"}, 0), Error);
}

}  // namespace
}  // namespace poas

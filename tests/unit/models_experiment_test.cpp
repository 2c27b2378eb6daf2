// The blocks that calibration measures are spread over shapes and lengths, and so are those that only judge.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/experiment.hpp"

namespace poas {
namespace {

constexpr int ndims = 3;
constexpr std::uint64_t least = 16, most = 16384;

double points_of(const Extents& e) { return double(e[0]) * double(e[1]) * double(e[2]); }

// Halton's points in bases 2 and 3 begin with 1/2, 1/4, 3/4, 1/8 and 1/3, 2/3, 1/9, 4/9; all are shifted alike.
TEST(Experiment, points_are_those_of_halton_shifted) {
  const double halves[] = {1. / 2, 1. / 4, 3. / 4, 1. / 8}, thirds[] = {1. / 3, 2. / 3, 1. / 9, 4. / 9};
  const SpreadPoints spread(7);
  const auto distance = [](double a) { return std::abs(a - std::round(a)); };  // modulo 1
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(distance(spread.coordinate(i, 0) - spread.coordinate(0, 0) - (halves[i] - halves[0])), 0, 1e-12) << i;
    EXPECT_NEAR(distance(spread.coordinate(i, 1) - spread.coordinate(0, 1) - (thirds[i] - thirds[0])), 0, 1e-12) << i;
  }
  EXPECT_NE(SpreadPoints(8).coordinate(0, 0), spread.coordinate(0, 0));
}

// 16 intervals of a base 2: each holds a sixteenth of the first 160 points, give or take the two at its ends.
TEST(Experiment, lengths_are_spread_whenever_one_stops) {
  const SpreadPoints spread(1);
  for (const std::uint64_t count : {160u, 320u}) {
    unsigned inside[16] = {};
    for (std::uint64_t i = 0; i < count; ++i) ++inside[static_cast<std::size_t>(16 * spread_length(spread, i))];
    for (const unsigned one : inside) EXPECT_NEAR(one, double(count) / 16, 2);
  }
}

class Shapes : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  std::vector<Extents> shapes(double points) const {
    const SpreadPoints spread(GetParam());
    std::vector<Extents> result;
    for (std::uint64_t i = 0; i < 300; ++i) result.push_back(spread_extents(spread, i, ndims, points, least, most));
    return result;
  }
};

TEST_P(Shapes, have_about_the_points_asked_for) {
  for (const Extents& e : shapes(1024. * 1024 * 1024)) {
    EXPECT_LE(points_of(e), 1024. * 1024 * 1024 * 1.001);
    EXPECT_GE(points_of(e), 1024. * 1024 * 1024 * 0.6);  // rounded down to multiples of 32
    EXPECT_EQ(e[3], 1u);
  }
}

TEST_P(Shapes, are_tall_wide_thin_and_square_alike) {
  int first = 0, second = 0, third = 0, square = 0, ragged = 0;
  for (const Extents& e : shapes(1024. * 1024 * 1024)) {
    first += e[0] >= 4 * std::max(e[1], e[2]), second += e[1] >= 4 * std::max(e[0], e[2]);
    third += 4 * e[2] <= std::min(e[0], e[1]);  // of small depth
    square += *std::max_element(e.begin(), e.begin() + 3) <= 2 * *std::min_element(e.begin(), e.begin() + 3);
    ragged += e[0] % 32 != 0 || e[1] % 32 != 0 || e[2] % 32 != 0;
    EXPECT_LE(double(*std::max_element(e.begin(), e.begin() + 3)),
              70. * double(*std::min_element(e.begin(), e.begin() + 3)));
  }
  for (const int kind : {first, second, third, square}) EXPECT_GE(kind, 10);  // of 300
  EXPECT_NEAR(ragged, 100, 6);
}

TEST_P(Shapes, keep_within_the_limits) {
  for (const double points : {1.0, 1e5, 1e14})
    for (const Extents& e : shapes(points))
      for (int d = 0; d < ndims; ++d) {
        EXPECT_GE(e[static_cast<std::size_t>(d)], least);
        EXPECT_LE(e[static_cast<std::size_t>(d)], most);
      }
}

INSTANTIATE_TEST_SUITE_P(Experiment, Shapes, ::testing::Values(1, 2, 3));

TEST(Experiment, one_in_five_of_each_length_is_held_out) {
  std::vector<Sample> samples(103);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].seconds = double(1 + i * 37 % 103);  // 1 to 103, mixed
  const std::vector<bool> out = held_out(samples);
  std::vector<bool> by_length(104);
  for (std::size_t i = 0; i < samples.size(); ++i) by_length[static_cast<std::size_t>(samples[i].seconds)] = out[i];
  EXPECT_EQ(std::count(out.begin(), out.end(), true), 20);
  for (std::size_t first = 1; first + 5 <= 101; first += 5)
    EXPECT_EQ(std::count(by_length.begin() + long(first), by_length.begin() + long(first) + 5, true), 1) << first;
  EXPECT_EQ(held_out(std::vector<Sample>(4)), std::vector<bool>(4));
  EXPECT_TRUE(held_out({}).empty());
}

}  // namespace
}  // namespace poas

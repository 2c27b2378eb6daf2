// Overlap of strided matrices against the sets of their bytes.
#include "codelets/overlap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace poas::codelets {
namespace {

std::set<std::uint64_t> bytes_of(const Strided& a) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t j = 0; j < a.columns; ++j)
    for (std::uint64_t i = 0; i < a.bytes; ++i) bytes.insert(a.begin + j * a.pitch + i);
  return bytes;
}

bool share_a_byte(const Strided& a, const Strided& b) {
  const std::set<std::uint64_t> of_a = bytes_of(a);
  for (std::uint64_t byte : bytes_of(b))
    if (of_a.count(byte)) return true;
  return false;
}

TEST(Overlap, AgreesWithSetsOfBytes) {
  std::mt19937 generator(3);
  const auto pick = [&](std::uint64_t low, std::uint64_t high) { return low + generator() % (high - low + 1); };
  int overlapping = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t pitch_a = pick(1, 9), pitch_b = i % 2 ? pitch_a : pick(1, 9);
    const Strided a{pick(100, 140), pick(0, pitch_a), pitch_a, pick(0, 6)};
    const Strided b{pick(100, 140), pick(0, pitch_b), pitch_b, pick(0, 6)};
    const bool expected = share_a_byte(a, b);
    overlapping += expected;
    ASSERT_EQ(overlap(a, b), expected) << a.begin << ' ' << a.bytes << ' ' << a.pitch << ' ' << a.columns
                                       << " and " << b.begin << ' ' << b.bytes << ' ' << b.pitch << ' '
                                       << b.columns;
    ASSERT_EQ(overlap(b, a), expected);
  }
  EXPECT_GT(overlapping, 3000);
}

TEST(Overlap, InterleavedBlocksOfOneMatrixShareNothing) {
  // Rows 0..511 and 512..1023 of a matrix of floats with leading dimension 1024 and 2^20 columns.
  const std::uint64_t columns = 1u << 20;
  EXPECT_FALSE(overlap({4096, 2048, 4096, columns}, {4096 + 2048, 2048, 4096, columns}));
  EXPECT_TRUE(overlap({4096, 2052, 4096, columns}, {4096 + 2048, 2048, 4096, columns}));
}

}  // namespace
}  // namespace poas::codelets

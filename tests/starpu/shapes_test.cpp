// Random shapes on mixed owners, and one that is large enough to matter.
#include <unistd.h>

#include <random>

#include "support.hpp"

namespace poas_test {
namespace {

Shape random_shape(std::mt19937& random) {
  const auto size = [&] { return 1 + random() % 700; };
  const double scalars[] = {0, 1, -0.5};
  return {size(),
          size(),
          size(),
          "NT"[random() % 2],
          "NT"[random() % 2],
          scalars[random() % 3],
          scalars[random() % 3]};
}

template <typename T>
void multiply_random(unsigned seed, int count) {
  Runtime runtime;
  std::mt19937 random(seed);
  for (int i = 0; i < count; i++) {
    Product<T> product(random_shape(random), static_cast<unsigned>(i));
    ASSERT_EQ(product.submit(), 0) << poas_last_error();
    product.unregister();
    ASSERT_TRUE(product.right()) << "shape number " << i;
  }
  std::size_t split = 0;
  for (const auto& record : runtime.records()) split += is_split(record) ? 1 : 0;
  EXPECT_GT(split, static_cast<std::size_t>(count) / 3) << "too few products were split to prove anything";
}

TEST(Shapes, Random150Fp32) { multiply_random<float>(11, 150); }
TEST(Shapes, Random150Fp64) { multiply_random<double>(12, 150); }

TEST(Shapes, Cube2048UsesBothUnits) {
  Runtime runtime;
  Product<float> product({2048, 2048, 2048, 'N', 'N', 1, 0});
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

// "always" gives every usable unit a block, however small the product.
TEST(Shapes, AlwaysSplitsSmallProductsToo) {
  Runtime runtime;
  Product<float> product({48, 64, 16, 'N', 'T', 1, 1});
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

std::uint64_t free_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// A has more bytes than 32 bits count.
TEST(Shapes, OperandOfOver4GiB) {
  if (free_memory() < std::uint64_t{12} << 30) GTEST_SKIP() << "skipped: needs 12 GiB of free memory";
  Runtime runtime;
  Product<float> product({16400, 8, 65600, 'N', 'N', 1, 0});
  ASSERT_GT(product.a.size() * sizeof(float), std::uint64_t{1} << 32);
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

// The check of these tests sees a single wrong element.
TEST(Shapes, WrongElementIsSeen) {
  Runtime runtime;
  Product<float> product({300, 420, 64, 'N', 'N', 1, 1});
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  ASSERT_TRUE(product.right());
  product.c[200 + 300 * 300] += 1;
  EXPECT_FALSE(product.right());
}

TEST(Shapes, ManyShapesInARow) {
  Runtime runtime;
  for (std::uint64_t n = 100; n < 150; n++) {
    Product<float> product({n, 2 * n, n / 2, 'T', 'N', 1, 1}, static_cast<unsigned>(n));
    ASSERT_EQ(product.submit(), 0);
    product.unregister();
    ASSERT_TRUE(product.right());
  }
  EXPECT_EQ(runtime.records().size(), 50u);
}

}  // namespace
}  // namespace poas_test

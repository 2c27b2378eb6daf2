// What the tests against the real runtime share: StarPU with one CPU worker and PoCL as a device with
// a memory of its own, products whose result is known exactly, and what POAS_RECORD says about them.
#pragma once

#include <gtest/gtest.h>
#include <starpu.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "poas/gemm.h"
#include "poas/poas.h"

namespace poas_test {

using Environment = std::map<std::string, std::string>;

// Environment variables that are put back at the end; an empty value unsets one.
class Setting {
 public:
  explicit Setting(const Environment& values);
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting();

 private:
  std::map<std::string, std::pair<bool, std::string>> before_;
};

// StarPU from construction to stop() or destruction, with a record file of its own.
class Runtime {
 public:
  explicit Runtime(Environment environment = {}, starpu_conf* conf = nullptr);
  ~Runtime();
  int status() const { return status_; }  // of starpu_init
  void stop();
  // Records of one operation in the order in which its tasks ended; waits for all tasks first.
  std::vector<nlohmann::json> records(const std::string& operation = "gemm") const;

 private:
  std::string file_;
  Setting setting_;
  int status_;
  bool running_;
};

// How many lines of a text hold these words.
std::size_t lines_with(const std::string& text, const std::string& words);
// Units that ran at least one block.
std::size_t units_of(const nlohmann::json& record);
testing::AssertionResult is_split(const nlohmann::json& record);
// As many records as tasks, all split.
void expect_split(const Runtime& runtime, std::size_t count = 1);
// Not split, and the reason contains `words`.
testing::AssertionResult is_whole(const nlohmann::json& record, const std::string& words);

struct Shape {
  std::uint64_t m, n, k;
  char transa = 'N', transb = 'N';
  double alpha = 1, beta = 0;
};

// C = alpha op(A) op(B) + beta C on small whole numbers, so that no order of the sums rounds.
template <typename T>
class Product {
 public:
  explicit Product(const Shape& shape, unsigned seed = 1);
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() { unregister(); }

  int submit();         // poas_gemm
  starpu_task* task();  // the same product as a raw task, not submitted
  static starpu_task* task(const Shape& shape, starpu_data_handle_t a, starpu_data_handle_t b,
                           starpu_data_handle_t c);
  void unregister();
  // Whether C is what `times` such products in a row make of it.  Compares C x with the exact value for
  // a random x of 16-bit whole numbers: a wrong C passes with probability 2^-16.
  testing::AssertionResult right(unsigned times = 1) const;

  Shape shape;
  std::vector<T> a, b, c;
  starpu_data_handle_t ha = nullptr, hb = nullptr, hc = nullptr;

 private:
  std::vector<T> old_;
};

extern template class Product<float>;
extern template class Product<double>;

}  // namespace poas_test

// A GEMM application for simulated nodes: its codelet, whose durations are the truth's, and its
// matrices, whose bytes do not exist.  C = A B with A m x k, B k x n, C m x n, column-major fp32.
#pragma once

#include <starpu.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "truth.hpp"

namespace gemm_node {

using truth::Shape;

struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
  auto operator<=>(const Range&) const = default;
};

// Cuts [0, extent) of a range in `parts` pieces whose bounds are multiples of `align` from its begin.
std::vector<Range> cut(Range range, std::uint64_t parts, std::uint64_t align);

// The node whose durations the codelet has; must be set before the first task.
void use_node(const truth::Node& node);
const truth::Node& node();

// From now on that unit needs `factor` times as long; as named by unit_name().
void slow_down(const std::string& unit, double factor);

starpu_codelet* codelet();

// The processor of the truth that a StarPU worker stands for.
const truth::Processor& processor_of(int worker);
// StarPU's workers of unit 0 (the CPU cores) or of unit 1 + d (device d).
std::vector<int> workers_of(unsigned unit);
std::string unit_name(unsigned unit);

// Blocks of C and the parts of A and B that they need, each registered once for each range.
class Matrices {
 public:
  explicit Matrices(const Shape& shape);
  ~Matrices();
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  const Shape& shape() const { return shape_; }
  // A task for the block of C with these rows and columns; worker -1: the policy chooses.
  starpu_task* task(Range rows, Range columns, int worker);
  // Waits until all blocks of C are in host memory.
  void bring_home();

 private:
  struct Key {
    int matrix;
    Range rows, columns;
    auto operator<=>(const Key&) const = default;
  };
  starpu_data_handle_t part(int matrix, Range rows, Range columns);

  Shape shape_;
  std::array<void*, 3> memory_{};
  std::array<std::uint64_t, 3> rows_{}, columns_{};
  std::map<Key, starpu_data_handle_t> parts_;
};

// Submits the task or throws; its part of C travels home as soon as it is computed.
void submit(starpu_task* task);

}  // namespace gemm_node

// Column-major matrices of any element type in host memory, with elements that can be computed again.
#pragma once

#include <starpu.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "options.hpp"

// Runs body(begin, end) on ranges of [0, count) on all cores of this process.
void parallel_ranges(std::uint64_t count, const std::function<void(std::uint64_t, std::uint64_t)>& body);

class Matrix {
 public:
  // Throws std::bad_alloc.  Pinned memory needs a running StarPU, until the destructor.
  Matrix(poas::Type type, std::uint64_t rows, std::uint64_t columns, Memory memory, std::uint64_t seed);
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix();

  std::uint64_t rows() const { return rows_; }
  std::uint64_t columns() const { return columns_; }
  std::size_t bytes() const { return rows_ * columns_ * element_bytes_; }
  void* data() const { return data_; }
  poas::Type type() const { return type_; }

  // Sets every element to initial().
  void fill();
  // The element that fill() writes: uniform in [-1, 1) on a grid that the type holds exactly.
  double initial(std::uint64_t row, std::uint64_t column) const;
  double at(std::uint64_t row, std::uint64_t column) const;

 private:
  poas::Type type_;
  Memory memory_;
  std::uint64_t rows_, columns_, seed_;
  std::size_t element_bytes_;
  void* data_ = nullptr;
};

// op(M) as 'N' or 'T' says.
inline double element(const Matrix& matrix, char trans, std::uint64_t row, std::uint64_t column) {
  return trans == 'N' ? matrix.at(row, column) : matrix.at(column, row);
}

std::size_t bytes_of(poas::Type type);

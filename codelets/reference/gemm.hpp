// GEMM by three loops, for every element type: slow, and the judge of all other implementations.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "codelets/elements.hpp"

namespace poas::codelets {

// The type in which the reference adds: wider than that of the elements.
template <typename Element>
using Wide = std::conditional_t<std::is_same_v<Element, double>, long double, double>;

// A column-major matrix in host memory that somebody else owns.
template <typename Element>
struct HostMatrix {
  Element* data = nullptr;
  std::uint64_t rows = 0, columns = 0, ld = 0;
  Wide<std::remove_const_t<Element>> value(std::uint64_t i, std::uint64_t j) const {
    return load(data[i + j * ld]);
  }
};

// alpha op(A) op(B) + beta C, not rounded to the element type, as c.rows x c.columns values without
// gaps.  beta = 0 does not read C, alpha = 0 does not read A and B.  transa, transb: 'N' or 'T'.
template <typename Element>
std::vector<Wide<Element>> reference_gemm(char transa, char transb, double alpha, HostMatrix<const Element> a,
                                          HostMatrix<const Element> b, double beta,
                                          HostMatrix<const Element> c) {
  const std::uint64_t m = c.rows, n = c.columns, k = transa == 'N' ? a.columns : a.rows;
  std::vector<Wide<Element>> result(m * n);
  for (std::uint64_t j = 0; j < n; ++j) {
    Wide<Element>* column = result.data() + j * m;
    for (std::uint64_t l = 0; l < k && alpha != 0; ++l) {
      const Wide<Element> right = transb == 'N' ? b.value(l, j) : b.value(j, l);
      for (std::uint64_t i = 0; i < m; ++i)
        column[i] += (transa == 'N' ? a.value(i, l) : a.value(l, i)) * right;
    }
    for (std::uint64_t i = 0; i < m; ++i)
      column[i] = alpha * column[i] + (beta == 0 ? 0 : beta * c.value(i, j));
  }
  return result;
}

}  // namespace poas::codelets

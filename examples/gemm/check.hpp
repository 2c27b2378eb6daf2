// Is C = alpha op(A) op(B) + beta C0 right?
#pragma once

#include "matrix.hpp"

struct CheckResult {
  double relative_error = 0;  // largest |c - exact| / (|alpha| |A||B| + |beta C0|) of the exact rows
  double tolerance = 0;       // its bound from error analysis
  double product_error = 0;   // largest error of C x for a random x, as a multiple of its bound
  bool ok() const { return relative_error <= tolerance && product_error <= 1; }
};

// Recomputes up to 64 rows in fp64 and compares C x with alpha A (B x) + beta C0 x for a random x of
// +-1 (Freivalds), which sees every element.  `precision` is the class that was promised.
CheckResult check(const Options& options, poas::Precision precision, const Matrix& a, const Matrix& b,
                  const Matrix& c);

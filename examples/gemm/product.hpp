// The product itself: operands, handles, one submission.
#pragma once

#include <stdexcept>

#include "matrix.hpp"

// A worker or unit that was asked for does not exist here.
struct NotThere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Operands {
  Matrix a, b, c;
  explicit Operands(const Options& options);
};

// The class that the result must have.
poas::Precision promised(const Options& options);

// Sets C to its initial value and multiplies once, from host memory to host memory; the time from the
// submission until C is back.  Throws NotThere if no worker can do it, std::runtime_error otherwise.
poas::Seconds multiply(const Options& options, Operands& operands);
// The same with several products on one C, submitted without waiting.
poas::Seconds multiply_times(const Options& options, Operands& operands, unsigned times);

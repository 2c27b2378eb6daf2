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

// Multiplies once, from host memory to host memory; the time from the submission until C is back.  C is set to its initial
// value before if it counts (beta other than 0).  Throws NotThere if no worker can do it, std::runtime_error otherwise.
poas::Seconds multiply(const Options& options, Operands& operands);
// The same on a C that is set to its initial value in any case, so that elements which are not written show.
void multiply_anew(const Options& options, Operands& operands);
// The same with several products on one C, submitted without waiting.
poas::Seconds multiply_times(const Options& options, Operands& operands, unsigned times);

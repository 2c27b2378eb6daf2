// Prices of European options after Black and Scholes: what the two source files of this example share.
#pragma once

#include <starpu.h>

#include "poas/divisible.hpp"

// The argument of a task (cl_arg): the same for all options.
struct Market {
  float riskless;    // yearly rate of the riskless asset, 0.05 is 5 %
  float volatility;  // yearly
};

// Adds the OpenCL function to the codelet and its description to the divisible, if there is one.
// After starpu_init().
void add_opencl(starpu_codelet& codelet, poas::Divisible& divisible);
void remove_opencl();

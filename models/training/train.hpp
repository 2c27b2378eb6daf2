// Fits models with trees, as programs do that calibrate or ship models.  Not part of libpoas, which only
// evaluates trees.
#pragma once

#include <string>
#include <vector>

#include "poas/models.hpp"

namespace poas::training {

// seconds = a + b work by ordinary least squares: the model of the POAS paper (Martinez, Bernabe, Garcia,
// J. Supercomputing 2024).  Predicts `asked` from `samples`.
std::vector<Seconds> linear_regression(const std::vector<Sample>& samples, const std::vector<Sample>& asked);

// fit(), with boosted trees above it (XGBoost: Chen, Guestrin, KDD 2016) if there are 80 samples or more and the trees
// lessen its error on samples that took no part: a fifth of them, which relative_error is of then.  From 400 samples on
// the trees are deep, and must leave at most 0.7 of the error; before, they are shallow and must not add to it.
// `parallel`: tiles that the device computes at once (multiprocessors of a GPU).  The same samples give the same model.
// Throws Error(numerical) like fit().
TimeModel train(const std::vector<Sample>& samples, int ndims, unsigned parallel);

// A table of tools/bench/gpu_samples: its samples, the device and implementation they are of.
struct Table {
  std::string device, type, implementation;
  unsigned multiprocessors = 1;
  std::vector<Sample> samples;
};
// Throws Error(io or parse).
Table read_table(const std::string& file);

}  // namespace poas::training

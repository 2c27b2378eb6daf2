// What the result is compared with: each unit alone, plain BLAS on all cores, plain cuBLAS with copies.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix.hpp"

using Baselines = std::map<std::string, poas::Seconds>;

double median(std::vector<double> values);

// The same product with only `unit` allowed, in a process of its own, so that nothing of this one
// disturbs it.  StarPU must be stopped.  nullopt (with a line on stderr) if it failed.
std::optional<poas::Seconds> unit_alone(const Options& options, const std::string& unit);

// cblas_sgemm or cblas_dgemm on all cores.  nullopt for other types.
std::optional<poas::Seconds> plain_blas(const Options& options);

// Copies A, B (and C) to GPU 0, multiplies with cuBLAS, copies C back: what a program without poas
// does.  The matrices are those of the run; C is overwritten.  nullopt without CUDA or without a GPU.
std::optional<poas::Seconds> copy_gemm_copy(const Options& options, poas::Precision precision,
                                            const Matrix& a, const Matrix& b, Matrix& c);

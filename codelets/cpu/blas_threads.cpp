#include "blas_threads.hpp"

#include <mutex>

// Weak: another BLAS does not have them, and only the OpenMP build brings OpenMP.
extern "C" {
__attribute__((weak)) int openblas_get_parallel(void);
__attribute__((weak)) int openblas_get_num_threads(void);
__attribute__((weak)) void openblas_set_num_threads(int);
__attribute__((weak)) int omp_get_max_threads(void);
__attribute__((weak)) void omp_set_num_threads(int);
}

namespace poas::codelets {
namespace {

enum class Threads { none, own, openmp };

Threads threads_of_blas() {
  if (!openblas_get_parallel || !openblas_get_num_threads || !openblas_set_num_threads) return Threads::none;
  switch (openblas_get_parallel()) {
    case 1: return Threads::own;
    case 2: return omp_get_max_threads && omp_set_num_threads ? Threads::openmp : Threads::none;
    default: return Threads::none;
  }
}

// No call into StarPU is made with it locked.
std::mutex mutex;
int in_flight = 0;
int before = 1;

void enter() {
  std::lock_guard lock(mutex);
  if (in_flight++ != 0) return;
  before = openblas_get_num_threads();
  if (before != 1) openblas_set_num_threads(1);
}

void leave() {
  std::lock_guard lock(mutex);
  if (--in_flight != 0) return;
  // An application that chose another number meanwhile keeps it.
  if (before != 1 && openblas_get_num_threads() == 1) openblas_set_num_threads(before);
}

const Threads kind = threads_of_blas();

}  // namespace

SingleBlasThread::SingleBlasThread() {
  if (kind == Threads::own) enter();
  if (kind != Threads::openmp) return;
  const int threads = omp_get_max_threads();
  if (threads == 1) return;
  of_openmp_ = threads;
  omp_set_num_threads(1);
}

SingleBlasThread::~SingleBlasThread() {
  if (kind == Threads::own) leave();
  if (of_openmp_ != 0) omp_set_num_threads(of_openmp_);
}

}  // namespace poas::codelets

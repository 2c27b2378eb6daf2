// One BLAS thread per StarPU worker while kernels run, the application's choice afterwards.
#pragma once

namespace poas::codelets {

// While at least one lives, OpenBLAS computes in the calling thread alone.
//
// An OpenBLAS with its own threads has one number for the process: the first guard of all threads
// saves it and sets 1, the last one sets it back.  An OpenBLAS with OpenMP takes the number from
// OpenMP at every call, which has one for each thread: there the guard saves and sets that of the
// calling thread.  Another BLAS, or one without threads, is left alone.
class SingleBlasThread {
 public:
  SingleBlasThread();
  ~SingleBlasThread();
  SingleBlasThread(const SingleBlasThread&) = delete;
  SingleBlasThread& operator=(const SingleBlasThread&) = delete;

 private:
  int of_openmp_ = 0;  // this thread's number before, 0: not changed
};

}  // namespace poas::codelets

// A GEMM in a StarPU worker computes in that worker's thread alone, whatever number of BLAS threads
// the application chose, and the application's choice is still there afterwards.
#include <cblas.h>
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "conformance/gemm_task.hpp"

namespace poas::test {
namespace {

constexpr std::uint64_t size = 700;
constexpr long busy_ticks = 5;

// Processor time of each thread of this process, in clock ticks.
std::map<std::string, long> ticks_of_threads() {
  std::map<std::string, long> ticks;
  DIR* directory = opendir("/proc/self/task");
  while (const dirent* entry = readdir(directory)) {
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/stat");
    std::string line;
    if (entry->d_name[0] == '.' || !std::getline(file, line)) continue;
    std::istringstream fields(line.substr(line.rfind(')') + 2));  // the name may hold blanks
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    fields >> ticks[entry->d_name];
  }
  closedir(directory);
  return ticks;
}

// Repeats `work` until this process has used about a second, then counts the threads that did it.
template <typename Work>
int busy_threads(const Work& work) {
  const std::map<std::string, long> before = ticks_of_threads();
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC) work();
  int busy = 0;
  for (const auto& [thread, ticks] : ticks_of_threads()) {
    const auto known = before.find(thread);
    busy += ticks - (known == before.end() ? 0 : known->second) >= busy_ticks;
  }
  return busy;
}

struct Square {
  Matrix<float> a = random_matrix<float>(size, size, size, 1), b = random_matrix<float>(size, size, size, 2),
                c = random_matrix<float>(size, size, size, 3);
};

// libgomp is there only with the OpenMP build.
int (*omp_max_threads())() {
  return reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
}

bool is_openmp() { return openblas_get_parallel() == 2; }

// What the application sees as its number of threads.
int chosen_threads() { return is_openmp() ? omp_max_threads()() : openblas_get_num_threads(); }

int gemm_in_workers(starpu_data_handle_t a, starpu_data_handle_t b, starpu_data_handle_t c) {
  if (const int error = poas_gemm('N', 'N', 1, a, b, 0, c, POAS_FP32, POAS_CLASS_DEFAULT)) return error;
  return starpu_task_wait_for_all();
}

TEST(BlasThreads, TheBuildUnderTestIsTheOneMeant) {
  const char* expected = std::getenv("POAS_TEST_OPENBLAS");
  const bool openmp = expected && std::string(expected) == "openmp";
  EXPECT_EQ(openblas_get_parallel(), openmp ? 2 : 1) << openblas_get_config();
  ASSERT_EQ(starpu_cpu_worker_get_count(), 1u);
}

TEST(BlasThreads, AKernelIsBusyInOneThread) {
  openblas_set_num_threads(2);
  Square s;
  const Handle a(s.a), b(s.b), c(s.c);
  EXPECT_EQ(busy_threads([&] { ASSERT_EQ(gemm_in_workers(a, b, c), 0) << poas_last_error(); }), 1);
}

TEST(BlasThreads, TheApplicationsNumberComesBack) {
  Square s;
  const Handle a(s.a), b(s.b), c(s.c);
  for (int threads : {2, 1, 2}) {
    openblas_set_num_threads(threads);
    ASSERT_EQ(chosen_threads(), threads);
    ASSERT_EQ(gemm_in_workers(a, b, c), 0) << poas_last_error();
    EXPECT_EQ(chosen_threads(), threads);
  }
}

// The measure sees threads where there are some: the same product outside of StarPU, whose workers
// are paused since they poll.  Last, since idle threads of a BLAS spin for a while.
TEST(BlasThreads, OutsideOfStarpuTheApplicationStillHasItsThreads) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "one processor: OpenBLAS has one thread anyway";
  openblas_set_num_threads(2);
  Square s;
  starpu_pause();
  const int busy = busy_threads([&] {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, s.a.values.data(), size,
                s.b.values.data(), size, 0, s.c.values.data(), size);
  });
  starpu_resume();
  EXPECT_EQ(busy, 2);
}

}  // namespace
}  // namespace poas::test

// Sets what the tests need where the environment says nothing, so that a case also runs by hand; models are its own.
#include <gtest/gtest.h>

#include <cstdlib>

#include "../support/scratch.hpp"

int main(int argc, char** argv) {
  // What one test's tasks teach is nothing to the next.
  const poas::test::Scratch models;
  setenv("POAS_MODEL_DIR", models.path().c_str(), 1);
  const char* defaults[][2] = {{"STARPU_NCPU", "1"},
                               {"STARPU_NCUDA", "0"},
                               {"STARPU_NOPENCL", "1"},
                               {"STARPU_OPENCL_ON_CPUS", "1"},
                               {"STARPU_SCHED", "poas"},
                               {"STARPU_SCHED_LIB", POAS_TEST_LIBRARY},
                               {"POAS_SPLIT", "always"},
                               {"STARPU_SILENT", "1"},
                               {"STARPU_WORKERS_NOBIND", "1"},
                               {"OPENBLAS_NUM_THREADS", "1"},
                               {"STARPU_HOME", POAS_TEST_SCRATCH "/starpu"},
                               {"STARPU_PERF_MODEL_DIR", POAS_TEST_SCRATCH "/starpu"}};
  for (const auto& [name, value] : defaults) setenv(name, value, 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

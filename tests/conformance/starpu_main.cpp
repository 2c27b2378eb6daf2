// Runs the tests of a program inside one StarPU with a stock policy.
#include <gtest/gtest.h>
#include <starpu.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy_name = "eager";
  if (const int error = starpu_init(&conf)) {
    std::printf("starpu_init failed with %d: no worker of the kinds that the environment allows\n", error);
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  starpu_shutdown();
  return result;
}

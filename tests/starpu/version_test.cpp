// A libpoas in a StarPU of another minor version: this program answers for StarPU when asked which it is.
#include <gtest/gtest.h>
#include <starpu.h>

#include <cstring>

#include "poas/poas.h"

namespace {
int pretended_minor = STARPU_MINOR_VERSION;
}

extern "C" {
void starpu_get_version(int* major, int* minor, int* release) {
  *major = STARPU_MAJOR_VERSION;
  *minor = pretended_minor;
  *release = 0;
}
starpu_sched_policy* starpu_get_sched_lib_policy(const char* name);
starpu_sched_policy** starpu_get_sched_lib_policies(void);
}

namespace {

class Version : public testing::TestWithParam<int> {
 protected:
  Version() { pretended_minor = GetParam(); }
  ~Version() override { pretended_minor = STARPU_MINOR_VERSION; }
};

TEST_P(Version, LibraryIsRefusedWithWords) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  testing::internal::CaptureStderr();
  const int answer = poas_conf_init(&conf);
  const std::string words = testing::internal::GetCapturedStderr();
  EXPECT_EQ(answer, -EINVAL);
  EXPECT_EQ(conf.sched_policy, nullptr);
  EXPECT_NE(words.find("built for StarPU 1.4"), std::string::npos) << words;
  EXPECT_NE(words.find("StarPU 1." + std::to_string(GetParam())), std::string::npos) << words;
  EXPECT_EQ(starpu_get_sched_lib_policy("poas"), nullptr);
  EXPECT_EQ(starpu_get_sched_lib_policies()[0], nullptr);
}

INSTANTIATE_TEST_SUITE_P(Minor, Version, testing::Values(3, 5));

TEST(VersionItself, TheOwnOneIsTaken) {
  ASSERT_NE(starpu_get_sched_lib_policy("poas"), nullptr);
  EXPECT_STREQ(starpu_get_sched_lib_policy("poas")->policy_name, "poas");
  EXPECT_NE(starpu_get_sched_lib_policies()[0], nullptr);
}

}  // namespace

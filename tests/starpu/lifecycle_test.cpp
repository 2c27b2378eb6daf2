// Start and stop, and which policy really runs.
#include "support.hpp"

namespace poas_test {
namespace {

const Shape shape{300, 420, 64, 'N', 'N', 1, 1};

void multiply_once(const Runtime& runtime) {
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

void expect_policy(const char* name) {
  EXPECT_STREQ(starpu_sched_get_sched_policy()->policy_name, name);
  EXPECT_EQ(poas_in_use(), std::string(name) == "poas");
}

TEST(Lifecycle, HundredStarts) {
  for (int i = 0; i < 100; i++) {
    Runtime runtime;
    ASSERT_EQ(runtime.status(), 0);
    multiply_once(runtime);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Lifecycle, StartWithoutAnyTask) {
  for (int i = 0; i < 3; i++) {
    Runtime runtime;
    expect_policy("poas");
  }
}

TEST(Lifecycle, EnvironmentOnly) {
  Runtime runtime;
  expect_policy("poas");
  multiply_once(runtime);
}

TEST(Lifecycle, ConfigurationOnly) {
  Setting setting(Environment{{"STARPU_SCHED", ""}, {"STARPU_SCHED_LIB", ""}});
  starpu_conf conf;
  starpu_conf_init(&conf);
  ASSERT_EQ(poas_conf_init(&conf), 0);
  Runtime runtime({}, &conf);
  expect_policy("poas");
  multiply_once(runtime);
}

TEST(Lifecycle, ConfigurationAndEnvironmentAgree) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  ASSERT_EQ(poas_conf_init(&conf), 0);
  Runtime runtime({}, &conf);
  expect_policy("poas");
  multiply_once(runtime);
}

// As with every policy of StarPU, the environment wins.
TEST(Lifecycle, ConfigurationAndEnvironmentInConflict) {
  Setting setting(Environment{{"STARPU_SCHED", "eager"}});
  starpu_conf conf;
  starpu_conf_init(&conf);
  ASSERT_EQ(poas_conf_init(&conf), 0);
  Runtime runtime({}, &conf);
  expect_policy("eager");
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
}

TEST(Lifecycle, EnvironmentWinsOverAnotherNameInTheConfiguration) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy_name = "eager";
  Runtime runtime({}, &conf);
  expect_policy("poas");
  multiply_once(runtime);
}

TEST(Lifecycle, LibraryThatIsNotThereIsDetected) {
  Runtime runtime(Environment{{"STARPU_SCHED_LIB", "/nonexistent/libpoas.so"}});
  ASSERT_EQ(runtime.status(), 0);
  EXPECT_STRNE(starpu_sched_get_sched_policy()->policy_name, "poas");
  EXPECT_EQ(poas_in_use(), 0);
}

TEST(Lifecycle, WrongNameIsDetected) {
  Runtime runtime(Environment{{"STARPU_SCHED", "poass"}});
  ASSERT_EQ(runtime.status(), 0);
  EXPECT_STRNE(starpu_sched_get_sched_policy()->policy_name, "poas");
  EXPECT_EQ(poas_in_use(), 0);
}

TEST(Lifecycle, NotRunningIsNotInUse) { EXPECT_EQ(poas_in_use(), 0); }

TEST(Lifecycle, PoliciesInTurn) {
  for (const char* name : {"poas", "dmdas", "poas", "eager", "poas"}) {
    Runtime runtime(Environment{{"STARPU_SCHED", name}});
    expect_policy(name);
    Product<float> product(shape);
    ASSERT_EQ(product.submit(), 0);
    product.unregister();
    EXPECT_TRUE(product.right());
  }
}

}  // namespace
}  // namespace poas_test

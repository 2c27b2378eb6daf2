// What one process learned, in the next one; and what the file of it may do at worst.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models_loop.hpp"

namespace poas::test {
namespace {

constexpr const char* day = "2024-01-02";
const ModelKey one_key{"one", "pure", "cpu", Type::fp32};

// As a file keeps it.
std::map<ModelKey, Learned> stored(const std::map<ModelKey, Learned>& learned) {
  Models models;
  models.learned = learned;
  return models_from_json(to_json(models)).learned;
}

Learned of_one(const Node& node, double factor, unsigned tasks) {
  const auto found = node.models.times.find(one_key);
  const TimeModel model = found != node.models.times.end()
                              ? found->second
                              : default_model(node.machine.units[0], Type::fp32, Precision::fp32);
  return {model, factor, tasks, day};
}

Node nobody_measured() {
  Node node = two_equal();
  node.models.times.clear();
  return node;
}

// So large that guesses of real processors share it too.
Operation shared_work(const Node& node) { return pure_work(node.models.times.empty() ? 4000000000u : 100000u); }

TEST(Resumed, TheNextProcessPlansItsFirstTaskWithWhatWasLearned) {
  for (const Node& node : {two_equal(), nobody_measured()}) {
    const Operation operation = shared_work(node);
    Loop first(node);
    for (int i = 0; i < 30; ++i) first.task(first_thrice_slower, operation);
    const auto learned = stored(first.learner.changes(day));
    // Of measured models those that moved, of guesses all.
    EXPECT_EQ(learned.size(), node.models.times.empty() ? 2u : 1u);
    ASSERT_EQ(learned.count(one_key), 1u);
    EXPECT_NEAR(learned.at(one_key).factor, 3, 0.01);
    EXPECT_GE(learned.at(one_key).tasks, 5u);
    EXPECT_EQ(learned.at(one_key).when, day);
    Loop second(node, learned);
    EXPECT_NEAR(second.task(first_thrice_slower, operation), 0.25, 0.0125);
  }
}

TEST(Resumed, NothingIsToBeStoredUnlessFactorsMoved) {
  Loop quiet(two_equal());
  std::mt19937 random(5);
  const auto noisy = [&](unsigned) { return 0.97 + 0.06 * (random() % 100) / 100; };
  for (int i = 0; i < 50; ++i) quiet.task(noisy);
  EXPECT_TRUE(quiet.learner.changes(day).empty());

  Loop slow(two_equal());
  for (int i = 0; i < 20; ++i) slow.task(first_thrice_slower);
  const auto learned = slow.learner.changes(day);
  EXPECT_EQ(learned.size(), 1u);
  slow.learner.keep(learned);
  EXPECT_TRUE(slow.learner.changes(day).empty());
  Loop next(two_equal(), stored(learned));
  for (int i = 0; i < 20; ++i) next.task(first_thrice_slower);
  EXPECT_TRUE(next.learner.changes(day).empty());
  for (int i = 0; i < 20; ++i) next.task(as_modelled);
  EXPECT_NEAR(next.learner.changes(day).at(one_key).factor, 1, 0.01);
}

// A file says that a unit is so slow, or so fast; in truth its model is right.
TEST(Resumed, APoisonedFileIsForgottenWithin20CleanTasks) {
  for (const bool measured : {true, false})
    for (const double factor : {1e-9, 1e-3, 0.2, 5.0, 100.0, 1e6, 1e300})
      for (const unsigned tasks : {1u, 9u, 4000000000u}) {
        const Node node = measured ? two_equal() : nobody_measured();
        Loop loop(node, {{one_key, of_one(node, factor, tasks)}});
        for (int i = 0; i < 20; ++i) loop.task(as_modelled, shared_work(node));
        EXPECT_NEAR(loop.learner.factors().at(one_key), 1, 0.05) << factor << " from " << tasks << " tasks";
      }
}

// What is stored of a run whose tasks were all poisoned does no harm either.
TEST(Resumed, APoisonedRunIsForgottenWithin20CleanTasksOfTheNext) {
  for (const Node& node : {two_equal(), nobody_measured()}) {
    const Operation operation = shared_work(node);
    Loop poisoned(node);
    for (int i = 0; i < 30; ++i) poisoned.task([](unsigned unit) { return unit == 0 ? 500.0 : 1.0; }, operation);
    Loop next(node, stored(poisoned.learner.changes(day)));
    for (int i = 0; i < 20; ++i) next.task(as_modelled, operation);
    EXPECT_NEAR(next.task(as_modelled, operation), 0.5, 0.025);
  }
}

// A process starts slowly: its first tasks do not outweigh what is known.
TEST(Resumed, OneSlowFirstTaskMovesNothing) {
  const Node node = two_equal();
  for (const double spike : {4.0, 100.0}) {
    Loop loop(node, {{one_key, of_one(node, 3, 50)}});
    loop.task([spike](unsigned unit) { return unit == 0 ? 3 * spike : 1.0; });
    EXPECT_NEAR(loop.task(first_thrice_slower), 0.25, 0.0125) << spike;
  }
}

TEST(Resumed, AFactorOfAnotherModelIsNotUsed) {
  Node node = two_equal();
  const Learned before = of_one(node, 3, 50);
  node.models.times.at(one_key).seconds_per_flop *= 2;
  Loop loop(node, {{one_key, before}});
  EXPECT_TRUE(loop.learner.corrected(node.models).learned.empty());
  EXPECT_NEAR(loop.task(as_modelled), 1 / 3.0, 0.01);
  EXPECT_NEAR(loop.learner.factors().at(one_key), 1, 0.01);
}

// The factor of a unit whose model is that of its product: the trees come from there, not from the factor's file.
TEST(Resumed, AFactorOfAProductsModelKeepsItsTrees) {
  Models models;
  TimeModel& model = models.times[{"Maker Card 7", "pure", "code", Type::fp32}];
  model.seconds_per_flop = 2;
  model.samples = 9;
  model.forest = std::make_shared<Forest>(std::vector<std::string>{"-1 100"}, 1);
  Learned learned{model, 3, 50, day};
  learned.model.forest.reset();
  Learner learner;
  learner.resume({{{"cuda0", "pure", "code", Type::fp32}, learned}});
  EXPECT_TRUE(learner.corrected({}).times.empty());  // the device has not been seen
  const TimeModel corrected = learner.corrected(models).times.at({"cuda0", "pure", "code", Type::fp32});
  EXPECT_DOUBLE_EQ(corrected.seconds_per_flop, 6);
  EXPECT_EQ(corrected.forest, model.forest);
}

TEST(Resumed, CorrectedModelsSayWhatWasLearned) {
  const Node node = two_equal();
  Loop loop(node, {{one_key, of_one(node, 3, 50)}});
  for (int i = 0; i < 4; ++i) loop.task(first_thrice_slower);
  const auto learned = loop.learner.corrected(node.models).learned;
  EXPECT_NEAR(learned.at(one_key).factor, 3, 0.01);
  EXPECT_EQ(learned.at(one_key).tasks, 54u);
  EXPECT_EQ(learned.at(one_key).when, day);
  EXPECT_TRUE(parted(learned.at(one_key)));
}

// It was told when it was learned; that it lasts is no news.
TEST(Resumed, APartingIsNotToldAgain) {
  const Node node = two_equal();
  Loop loop(node, {{one_key, of_one(node, 3, 50)}});
  for (int i = 0; i < 20; ++i) loop.task(first_thrice_slower);
  EXPECT_TRUE(loop.learner.partings().empty());
}

// Every task of another shape: what is known stays as small as before, and is as right.
TEST(Resumed, TenThousandShapesMakeNoMoreThanAFactorAModel) {
  Node node = two_equal();
  Loop loop(node);
  for (std::uint64_t i = 0; i < 10000; ++i) loop.task(first_thrice_slower, pure_work(10000 + 37 * i));
  EXPECT_NEAR(loop.task(first_thrice_slower), 0.25, 0.0125);
  Models models = node.models;
  models.learned = loop.learner.changes(day);
  EXPECT_EQ(models.learned.size(), 1u);
  EXPECT_LT(to_json(models).size(), 256u << 10);
}

}  // namespace
}  // namespace poas::test

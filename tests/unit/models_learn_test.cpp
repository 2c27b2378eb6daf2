// Learning while running, in a closed loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "models_loop.hpp"

namespace poas::test {
namespace {

TEST(Learn, ModelsThatAreRightStay) {
  Loop loop(two_equal());
  for (int i = 0; i < 50; ++i) EXPECT_DOUBLE_EQ(loop.task(as_modelled), 0.5);
  EXPECT_FALSE(loop.learner.moved());
}

// Fair shares of units of speeds 1/3 and 1 are 1/4 and 3/4.
TEST(Learn, ASlowedUnitIsReplannedWithin30TasksAndBackWithin60) {
  Loop loop(two_equal());
  for (int i = 0; i < 20; ++i) loop.task(as_modelled);
  for (int i = 0; i < 30; ++i) loop.task(first_thrice_slower);
  EXPECT_NEAR(loop.task(first_thrice_slower), 0.25, 0.0125);
  for (int i = 0; i < 60; ++i) loop.task(as_modelled);
  EXPECT_NEAR(loop.task(as_modelled), 0.5, 0.025);
}

// So much slower that it gets nothing: it must be tried again, or nobody would know.
TEST(Learn, AUnitThatGotNothingIsTriedAgain) {
  Loop loop(two_equal());
  const auto stalled = [](unsigned unit) { return unit == 0 ? 200.0 : 1.0; };
  for (int i = 0; i < 30; ++i) loop.task(stalled);
  int without = 0;
  for (int i = 0; i < 10; ++i) without += loop.task(stalled) == 0 ? 1 : 0;
  EXPECT_GE(without, 8);
  int until = 0;
  while (until < 60 && loop.task(as_modelled) < 0.45) ++until;
  EXPECT_LT(until, 60);
}

// Trials that change nothing become rare: at most 2 % of many tasks.
TEST(Learn, TrialsOfASlowUnitAreBounded) {
  Loop loop(two_equal());
  const auto stalled = [](unsigned unit) { return unit == 0 ? 200.0 : 1.0; };
  for (int i = 0; i < 100; ++i) loop.task(stalled);
  int trials = 0;
  for (int i = 0; i < 2000; ++i) trials += loop.task(stalled) > 0 ? 1 : 0;
  EXPECT_GT(trials, 0);
  EXPECT_LE(trials, 40);
}

TEST(Learn, SpikesInAFifthOfTheObservationsMoveSharesByLessThan10Percent) {
  Loop loop(two_equal());
  std::mt19937 random(3);
  const auto spiky = [&](unsigned unit) { return (random() % 5 == 0 ? 100 : 1) * (unit == 0 ? 2.0 : 1.0); };
  for (int i = 0; i < 20; ++i) loop.task(spiky);
  for (int i = 0; i < 500; ++i) EXPECT_NEAR(loop.task(spiky), 1 / 3.0, 1 / 30.0);
}

TEST(Learn, PoisonedFirstObservationsAreForgottenWithin20CleanTasks) {
  for (const unsigned samples : {5u, 0u}) {  // a measured model, a guess
    for (const int poisoned : {1, 5, 9, 10, 15, 30}) {
      Node node = two_equal();
      node.models.times.at({"one", "pure", "cpu", Type::fp32}).samples = samples;
      Loop loop(node);
      for (int i = 0; i < poisoned; ++i) loop.task([](unsigned unit) { return unit == 0 ? 100.0 : 1.0; });
      for (int i = 0; i < 20; ++i) loop.task(as_modelled);
      EXPECT_NEAR(loop.learner.factors().at({"one", "pure", "cpu", Type::fp32}), 1, 0.05)
          << poisoned << " poisoned, model from " << samples << " samples";
    }
  }
}

// Ten good tasks and up to three that took 500 times as long, in any order; a measured model, and a guess.
TEST(Learn, AFewWildObservationsOfTenCostAUnitLessThanATenthOfItsShare) {
  std::mt19937 random(4);
  for (const unsigned samples : {5u, 0u})
    for (int wild = 1; wild <= 3; ++wild)
      for (int order = 0; order < 50; ++order) {
        Node node = two_equal();
        for (auto& [key, model] : node.models.times) model.samples = samples;
        std::vector<double> ratios(10, 1);
        ratios.insert(ratios.end(), static_cast<std::size_t>(wild), 500);
        std::shuffle(ratios.begin(), ratios.end(), random);
        Loop loop(node);
        for (const double ratio : ratios)
          for (const char* unit : {"one", "other"})
            loop.learner.add({{unit, "pure", "cpu", Type::fp32}, node.models.times.at({unit, "pure", "cpu", Type::fp32}),
                              unit == std::string("one") ? ratio : 1});
        EXPECT_GE(loop.task(as_modelled), 0.45) << wild << " wild, order " << order << ", " << samples << " samples";
      }
}

// Equal models, units that differ by 20 %: each instance gets a factor of its own.
TEST(Learn, EqualModelsOfUnequalUnitsPart) {
  Loop loop(two_equal());
  const auto unequal = [](unsigned unit) { return unit == 0 ? 1.2 : 1.0; };
  for (int i = 0; i < 10; ++i) loop.task(unequal);
  EXPECT_NEAR(loop.task(unequal), 1 / 2.2, 0.01);
}

TEST(Learn, OneUnitsPartingIsToldOnceAndOnlyOfMeasuredModels) {
  Loop loop(two_equal());
  for (int i = 0; i < 20; ++i) loop.task(first_thrice_slower);
  const auto words = loop.learner.partings();
  ASSERT_EQ(words.size(), 1u);
  EXPECT_NE(words[0].find("pure on one take 3.0 times"), std::string::npos) << words[0];
  EXPECT_TRUE(loop.learner.partings().empty());
}

TEST(Learn, WhatIsNoNumberIsDropped) {
  Learner learner;
  const Observation good{{"one", "pure", "cpu", Type::fp32}, {}, 1};
  for (const double ratio : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    Observation bad = good;
    bad.ratio = ratio;
    learner.add(bad);
  }
  EXPECT_FALSE(learner.moved());
  EXPECT_TRUE(learner.corrected({}).times.empty());
}

}  // namespace
}  // namespace poas::test

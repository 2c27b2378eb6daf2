// JSON and table of a plan.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/small_nodes.hpp"
#include "words.hpp"

namespace poas::test {
namespace {

using Json = nlohmann::json;

Plan split_plan() { return node().host("slow", 1, 1).host("fast", 1, 3).plan(pure_work(1000)); }

TEST(PlanJson, HoldsEveryField) {
  const Json json = Json::parse(to_json(split_plan()));
  for (const char* key :
       {"status", "makespan", "bound", "gap", "solver", "plan_seconds", "reason", "source", "operation",
        "split", "whole_unit", "measured_seconds", "units", "blocks"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["status"], "optimal");
  EXPECT_EQ(json["split"], true);
  EXPECT_TRUE(json["whole_unit"].is_null());
  EXPECT_DOUBLE_EQ(json["makespan"].get<double>(), 250);
  ASSERT_EQ(json["units"].size(), 2u);
  for (const char* key : {"name", "kind", "share", "blocks", "implementation", "precision", "joules", "joules_error",
                          "predicted_seconds", "compute_seconds", "measured_seconds", "reason"})
    EXPECT_TRUE(json["units"][0].contains(key)) << key;
  EXPECT_EQ(json["units"][1]["name"], "fast");
  EXPECT_EQ(json["units"][1]["precision"], "fp32");
  EXPECT_DOUBLE_EQ(json["units"][1]["share"].get<double>(), 0.75);
}

TEST(PlanJson, BlocksTileTheOperation) {
  const Json json = Json::parse(to_json(split_plan()));
  std::uint64_t items = 0;
  for (const Json& block : json["blocks"]) {
    ASSERT_EQ(block["ranges"].size(), 1u);
    items += block["ranges"][0][1].get<std::uint64_t>() - block["ranges"][0][0].get<std::uint64_t>();
    EXPECT_TRUE(block["unit"] == "slow" || block["unit"] == "fast");
    EXPECT_GT(block["seconds"].get<double>(), 0);
  }
  EXPECT_EQ(items, 1000u);
}

TEST(PlanJson, WholeTasksNameTheirUnit) {
  Request request;
  request.split = SplitMode::never;
  const Plan plan = node().host("slow", 1, 1).host("fast", 1, 3).plan(pure_work(1000), request);
  const Json json = Json::parse(to_json(plan));
  EXPECT_EQ(json["whole_unit"], "fast");
  EXPECT_TRUE(json["blocks"].empty());
}

TEST(PlanJson, AnyBytesInNamesStayJson) {
  Plan plan = split_plan();
  plan.reason = "quote \" newline \n not UTF-8 \xff";
  EXPECT_NO_THROW(Json::parse(to_json(plan)));
}

TEST(Explain, ShowsUnitsSharesAndReasons) {
  Plan plan = split_plan();
  plan.units[0].reason = "for a test";
  const std::string text = explain(plan);
  for (const char* part : {"pure fp32 n=1000", "slow", "fast", "25.0", "75.0", "fp32", "makespan 250 s",
                           "bound 250 s", "why: ", "slow takes no part: for a test"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_EQ(text.find("measured\n"), std::string::npos) << text;
}

TEST(Explain, ShowsMeasurementsWhenThereAreSome) {
  Plan plan = split_plan();
  plan.measured = 0.00125;
  plan.units[1].measured = 0.001;
  const std::string text = explain(plan);
  EXPECT_NE(text.find("1.25 ms measured"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00 ms"), std::string::npos) << text;
}

TEST(Explain, NumbersAreAlignedToTheRight) {
  std::istringstream text(explain(split_plan()));
  std::string headline, header, first, second;
  std::getline(text, headline);
  std::getline(text, header);
  std::getline(text, first);
  std::getline(text, second);
  const std::size_t end = header.find("share %") + 7;
  EXPECT_EQ(first.substr(end - 4, 4), "25.0");
  EXPECT_EQ(second.substr(end - 4, 4), "75.0");
}

TEST(TimeInWords, ThreeDigitsAndAUnit) {
  EXPECT_EQ(detail::time_in_words(0), "0 s");
  EXPECT_EQ(detail::time_in_words(1.234), "1.23 s");
  EXPECT_EQ(detail::time_in_words(250), "250 s");
  EXPECT_EQ(detail::time_in_words(0.0428), "42.8 ms");
  EXPECT_EQ(detail::time_in_words(1.25e-5), "12.5 us");
  EXPECT_EQ(detail::time_in_words(0.9999e-3), "1.00 ms");
  EXPECT_EQ(detail::time_in_words(3e-9), "3.00 ns");
}

}  // namespace
}  // namespace poas::test

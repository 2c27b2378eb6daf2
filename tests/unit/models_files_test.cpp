// Stored models: what is read is what was written, and nothing else is accepted.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "poas/error.hpp"
#include "poas/models.hpp"
#include "support/scratch.hpp"

namespace poas {
namespace {

namespace fs = std::filesystem;

using test::Scratch;

Models some_models() {
  Models models;
  models.when = "2024-05-06T07:08:09Z";
  models.version = 3;
  models.host = "node1";
  Machine machine;
  machine.name = "node \"1\"";
  machine.devices = {{"cuda0", 8e9, 12e9, 11e9, 1e-5, 0}};
  machine.units = {{"cpu", UnitKind::cpu, -1, 7}, {"cuda0", UnitKind::cuda, 0, 1}};
  machine.task_overhead = 1e-6;
  machine.source = "measured";
  models.machine = machine;
  TimeModel model{1.0 / 3, 1e-13 / 7, 2e-12 / 3, {128, 256, 1, 1, 1, 1, 1, 1}, 132, 0.0213, 44};
  models.times[{"cuda0", "gemm NN", "cublas", Type::fp32}] = model;
  models.times[{"cpu", "gemm NN", "openblas", Type::fp64}] =
      TimeModel{2e-6, 1e-10, 0, TimeModel{}.tile, 1, 0, 3};
  model.forest = std::make_shared<Forest>(std::vector<std::string>{"0 100.5 -1 1000 2 7 -1 3 -1 -2000", "-1 5"}, 132);
  models.times[{"NVIDIA H200", "gemm", "cublas-tf32", Type::fp32}] = model;
  models.powers[{"cuda0", "gemm NN", "cublas", Type::fp32}] = {612.5, 1.0 / 7, true};
  model.forest.reset();
  models.learned[{"cuda0", "gemm", "cublas-tf32", Type::fp32}] = {model, 1.0 / 3, 77, "2024-05-07"};
  return models;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string content(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

template <class Action>
void expect_error(Errc code, Action action, const std::string& what) {
  try {
    action();
    ADD_FAILURE() << "accepted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << what << ": " << error.what();
    EXPECT_GT(std::string(error.what()).size(), 30u) << error.what();
  }
}

void expect_refused(Errc code, const std::string& text, const std::string& what) {
  expect_error(
      code, [&] { models_from_json(text); }, what);
}

TEST(ModelsFiles, round_trip_keeps_every_bit) {
  const Models models = some_models();
  const Models back = models_from_json(to_json(models));
  EXPECT_EQ(back.times, models.times);
  EXPECT_EQ(back.powers, models.powers);
  EXPECT_EQ(back.learned, models.learned);
  EXPECT_EQ(back.host, models.host);
  EXPECT_EQ(back.when, models.when);
  EXPECT_EQ(back.version, models.version);
  ASSERT_TRUE(back.machine);
  EXPECT_EQ(to_json(*back.machine), to_json(*models.machine));
  EXPECT_EQ(to_json(back), to_json(models));
}

TEST(ModelsFiles, empty_models_round_trip) {
  const Models back = models_from_json(to_json(Models{}));
  EXPECT_TRUE(back.times.empty());
  EXPECT_FALSE(back.machine);
}

TEST(ModelsFiles, a_text_cut_at_any_byte_is_refused) {
  std::string text = to_json(some_models());
  text.erase(text.find_last_of('}') + 1);
  for (std::size_t length = 0; length < text.size(); ++length)
    expect_refused(Errc::parse, text.substr(0, length), "first " + std::to_string(length) + " bytes");
  EXPECT_NO_THROW(models_from_json(text));
}

TEST(ModelsFiles, another_version_is_named_as_such) {
  const std::string text = to_json(some_models());
  for (const char* other : {"2", "0", "\"1\"", "null"})
    expect_refused(
        Errc::version,
        replaced(text, "\"version\": 1,\n \"when\"", std::string("\"version\": ") + other + ", \"when\""),
        other);
}

TEST(ModelsFiles, values_that_no_model_can_have_are_refused) {
  const std::string text = to_json(some_models());
  const std::string fixed = "\"fixed\": 2e-06";
  expect_refused(Errc::parse, replaced(text, fixed, "\"fixed\": NaN"), "NaN");
  expect_refused(Errc::parse, replaced(text, fixed, "\"fixed\": Infinity"), "Infinity");
  expect_refused(Errc::parse, replaced(text, fixed, "\"fixed\": 1e999"), "1e999");
  expect_refused(Errc::parse, replaced(text, fixed, "\"fixed\": null"), "null");
  expect_refused(Errc::parse, replaced(text, fixed, "\"fixed\": \"1\""), "text");
  expect_refused(Errc::parse, replaced(text, fixed, "\"fixd\": 1"), "missing field");
  expect_refused(Errc::invalid, replaced(text, fixed, "\"fixed\": -1e-6"), "negative");
  expect_refused(Errc::invalid, replaced(text, "\"parallel\": 132", "\"parallel\": 0"), "parallel 0");
  expect_refused(Errc::invalid, replaced(text, "\"parallel\": 132", "\"parallel\": 1.5"), "parallel 1.5");
  expect_refused(Errc::invalid, replaced(text, "\"parallel\": 132", "\"parallel\": 4294967296"),
                 "parallel 2^32");
  expect_refused(Errc::invalid, replaced(text, "256", "0"), "tile 0");
  expect_refused(Errc::invalid, replaced(text, "\"fp64\"", "\"fp63\""), "unknown type");
  for (const char* other : {"[]", "1", "\"models\"", "null", "{}"})
    expect_refused(Errc::parse, other, other);
}

TEST(ModelsFiles, powers_may_be_missing_but_not_wrong) {
  const std::string text = to_json(some_models());
  EXPECT_TRUE(models_from_json(replaced(text, "\"powers\"", "\"other\"")).powers.empty());
  const std::string watts = "\"watts\": 612.5";
  expect_refused(Errc::invalid, replaced(text, watts, "\"watts\": -1"), "negative");
  expect_refused(Errc::parse, replaced(text, watts, "\"watts\": NaN"), "NaN");
  expect_refused(Errc::parse, replaced(text, watts, "\"watts\": null"), "null");
  expect_refused(Errc::parse, replaced(text, watts, "\"wats\": 1"), "missing");
  expect_refused(Errc::parse, replaced(text, "\"powers\": [", "\"powers\": 1, \"other\": ["), "no list");
  Models models = some_models();
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    models.powers.begin()->second.watts = bad;
    expect_error(Errc::invalid, [&] { to_json(models); }, std::to_string(bad));
  }
}

TEST(ModelsFiles, factors_that_nobody_can_have_learned_are_refused) {
  const std::string text = to_json(some_models());
  const std::string factor = "\"factor\": 0.3333333333333333", tasks = "\"tasks\": 77";
  for (const char* bad : {"NaN", "Infinity", "1e999", "null", "\"1\""})
    expect_refused(Errc::parse, replaced(text, factor, std::string("\"factor\": ") + bad), bad);
  for (const char* bad : {"-1", "0"})
    expect_refused(Errc::invalid, replaced(text, factor, std::string("\"factor\": ") + bad), bad);
  expect_refused(Errc::invalid, replaced(text, tasks, "\"tasks\": -1"), "tasks -1");
  expect_refused(Errc::invalid, replaced(text, tasks, "\"tasks\": 1.5"), "tasks 1.5");
  expect_refused(Errc::parse, replaced(text, tasks, "\"task\": 1"), "missing field");
  for (const double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Models models = some_models();
    models.learned.begin()->second.factor = bad;
    expect_error(
        Errc::invalid, [&] { to_json(models); }, std::to_string(bad));
  }
}

TEST(ModelsFiles, files_without_host_and_factors_are_read) {
  const std::string text = R"({"version": 1, "when": "2024-01-01", "changes": 1, "machine": null, "models": []})";
  EXPECT_TRUE(models_from_json(text).learned.empty());
  EXPECT_EQ(models_from_json(text).host, "");
  Models models = some_models();
  std::string older = to_json(models);
  older = replaced(older, "\"host\": \"node1\",", "");
  EXPECT_EQ(models_from_json(older).host, models.machine->name);
}

TEST(ModelsFiles, the_same_model_twice_is_refused) {
  std::string text = to_json(some_models());
  text = replaced(text, "\"fp64\"", "\"fp32\"");
  text = replaced(text, "\"openblas\"", "\"cublas\"");
  text = replaced(text, "\"unit\": \"cpu\"", "\"unit\": \"cuda0\"");
  expect_refused(Errc::invalid, text, "duplicate");
}

TEST(ModelsFiles, models_that_could_not_be_read_again_are_not_written) {
  for (const double bad :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Models models = some_models();
    models.times.begin()->second.seconds_per_byte = bad;
    expect_error(
        Errc::invalid, [&] { to_json(models); }, std::to_string(bad));
  }
  Models models = some_models();
  models.when = "\xff";
  expect_error(
      Errc::invalid, [&] { to_json(models); }, "bytes that are no UTF-8");
}

TEST(ModelsFiles, saving_makes_directories_and_loading_gives_the_same) {
  const Scratch scratch;
  const fs::path file = model_file(scratch / "a/b/c", "host");
  EXPECT_EQ(file, scratch / "a/b/c/host.json");
  save_models(file, some_models());
  const std::optional<Models> back = load_models(file);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(some_models()));
}

TEST(ModelsFiles, saving_again_replaces_the_file_and_leaves_nothing_beside_it) {
  const Scratch scratch;
  save_models(scratch / "host.json", Models{});
  save_models(scratch / "host.json", some_models());
  EXPECT_EQ(content(scratch / "host.json"), to_json(some_models()));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1);
  struct stat status {};
  ASSERT_EQ(::stat((scratch / "host.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0644u);
}

TEST(ModelsFiles, a_failed_save_keeps_the_old_file) {
  const Scratch scratch;
  save_models(scratch / "host.json", Models{});
  Models bad = some_models();
  bad.times.begin()->second.fixed = -1;
  EXPECT_THROW(save_models(scratch / "host.json", bad), Error);
  EXPECT_EQ(content(scratch / "host.json"), to_json(Models{}));
}

TEST(ModelsFiles, what_cannot_be_written_is_an_error_with_the_path) {
  const Scratch scratch;
  write(scratch / "file", "x");
  fs::create_directories(scratch / "taken.json/inside");
  for (const fs::path& file : {scratch / "file/host.json", scratch / "file/deeper/host.json",
                               fs::path("/proc/poas/host.json"), scratch / "taken.json"}) {
    expect_error(
        Errc::io, [&] { save_models(file, some_models()); }, file.string());
  }
  // Two entries as before: no draft stays behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 2);
}

TEST(ModelsFiles, a_missing_file_is_no_error_but_an_unusable_one_is) {
  const Scratch scratch;
  EXPECT_FALSE(load_models(scratch / "none.json"));
  EXPECT_FALSE(load_models(scratch / "no/such/none.json"));
  write(scratch / "empty.json", "");
  expect_error(
      Errc::parse, [&] { load_models(scratch / "empty.json"); }, "empty file");
  expect_error(
      Errc::io, [&] { load_models(scratch.path()); }, "a directory");
  expect_error(
      Errc::io, [&] { load_models("/dev/zero"); }, "a device");
  write(scratch / "bad.json", "{");
  try {
    load_models(scratch / "bad.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bad.json"), std::string::npos) << error.what();
  }
}

// The three variables as the test sets them, the caller's back afterwards.
class Environment : public ::testing::Test {
 protected:
  static constexpr const char* names[] = {"POAS_MODEL_DIR", "XDG_DATA_HOME", "HOME"};

  void SetUp() override {
    for (const char* name : names) {
      const char* value = ::getenv(name);
      before_.push_back(value ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (std::size_t i = 0; i < before_.size(); ++i)
      before_[i] ? ::setenv(names[i], before_[i]->c_str(), 1) : ::unsetenv(names[i]);
  }

 private:
  std::vector<std::optional<std::string>> before_;
};

TEST_F(Environment, the_model_directory_follows_the_first_variable_that_is_set) {
  EXPECT_TRUE(model_directory().empty());
  ::setenv("HOME", "/home/user", 1);
  EXPECT_EQ(model_directory(), "/home/user/.local/share/poas");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(model_directory(), "/home/user/.local/share/poas");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(model_directory(), "/data/poas");
  ::setenv("POAS_MODEL_DIR", "", 1);
  EXPECT_EQ(model_directory(), "/data/poas");
  ::setenv("POAS_MODEL_DIR", "/models", 1);
  EXPECT_EQ(model_directory(), "/models");
}

}  // namespace
}  // namespace poas

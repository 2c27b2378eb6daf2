// Several processes and one file: nothing is lost, nothing is half, nobody waits for the dead.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "poas/error.hpp"
#include "poas/models.hpp"
#include "support/scratch.hpp"

namespace poas::test {
namespace {

namespace fs = std::filesystem;

ModelKey key(const std::string& unit, const std::string& operation = "gemm") { return {unit, operation, "code", Type::fp32}; }

TimeModel model(double seconds_per_flop) {
  TimeModel model;
  model.seconds_per_flop = seconds_per_flop;
  model.samples = 9;
  return model;
}

Models of(std::initializer_list<std::pair<const ModelKey, TimeModel>> times) {
  Models models;
  models.host = "here";
  models.times = times;
  return models;
}

Learned learned(const TimeModel& model, double factor, const std::string& when = "2024-01-01") {
  return {model, factor, 5, when};
}

// Another process that does it, until it ends or is killed.
class Process {
 public:
  explicit Process(const std::function<void()>& body) : id_(::fork()) {
    if (id_ != 0) return;
    try {
      body();
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  void kill() const { ::kill(id_, SIGKILL); }
  bool ended_well() const {
    int status = 0;
    return ::waitpid(id_, &status, 0) == id_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t id_;
};

TEST(StoredModels, OfTwoProcessesThatKnewTheSameAllChangesStay) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  const Models before = of({{key("a"), model(1)}, {key("b"), model(1)}, {key("c"), model(1)}});
  save_changes(file, {}, before);
  Models first = before, second = before;
  first.times[key("a")] = model(2);
  first.times.erase(key("c"));
  first.learned[key("b")] = learned(model(1), 3);
  second.times[key("d")] = model(4);
  second.when = "2024-02-02";
  save_changes(file, before, first);
  save_changes(file, before, second);
  const Models now = load_models(file).value();
  EXPECT_EQ(now.times, of({{key("a"), model(2)}, {key("b"), model(1)}, {key("d"), model(4)}}).times);
  EXPECT_EQ(now.learned, first.learned);
  EXPECT_EQ(now.when, "2024-02-02");
}

TEST(StoredModels, OfTheSameModelTheLastWriterWins) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  const Models before = of({{key("a"), model(1)}});
  save_changes(file, {}, before);
  save_changes(file, before, of({{key("a"), model(2)}}));
  save_changes(file, before, of({{key("a"), model(3)}}));
  EXPECT_EQ(load_models(file)->times.at(key("a")), model(3));
}

// One process learns of a model while another measures it anew.
TEST(StoredModels, AFactorGoesWithTheModelThatItTellsOf) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  const Models before = of({{key("a"), model(1)}});
  save_changes(file, {}, before);
  save_changes(file, before, of({{key("a"), model(2)}}));
  Models late = before;
  late.learned[key("a")] = learned(model(1), 3);
  save_changes(file, before, late);
  EXPECT_TRUE(load_models(file)->learned.empty());
  EXPECT_EQ(load_models(file)->times.at(key("a")), model(2));
}

TEST(StoredModels, AFileThatCannotBeReadOrIsOfAnotherHostIsReplaced) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  const Models before = of({{key("a"), model(1)}}), after = of({{key("a"), model(1)}, {key("b"), model(2)}});
  Models foreign = of({{key("c"), model(3)}});
  foreign.host = "there";
  for (const std::string& text : {std::string(), std::string("{"), std::string("{\"version\": 2}"), to_json(foreign)}) {
    std::ofstream(file) << text;
    save_changes(file, before, after);
    EXPECT_EQ(load_models(file)->times, after.times) << text;
    EXPECT_EQ(load_models(file)->host, "here");
  }
}

TEST(StoredModels, TwoProcessesThatSave100TimesLoseNothing) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  const auto saving = [&](const std::string& unit) {
    return [&file, unit] {
      for (int i = 0; i < 100; ++i) {
        Models after = of({});
        after.learned[key(unit, std::to_string(i))] = learned(model(1), i + 1);
        after.times[key(unit, std::to_string(i))] = model(1);
        save_changes(file, of({}), after);
      }
    };
  };
  const Process first(saving("a")), second(saving("b"));
  EXPECT_TRUE(first.ended_well());
  EXPECT_TRUE(second.ended_well());
  const Models now = load_models(file).value();
  EXPECT_EQ(now.times.size(), 200u);
  ASSERT_EQ(now.learned.size(), 200u);
  for (const char* unit : {"a", "b"})
    for (int i = 0; i < 100; ++i) EXPECT_EQ(now.learned.at(key(unit, std::to_string(i))).factor, i + 1);
}

// Killed at moments spread over the whole of a save: the file is always the one before or the one after.
TEST(StoredModels, KilledWhileSavingLeavesAWholeFileAndNoLock) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  save_changes(file, {}, of({{key("a"), model(1)}}));
  double last = 1;
  for (int round = 0; round < 60; ++round) {
    const Process process([&] {
      for (double i = last + 1;; ++i) save_changes(file, {}, of({{key("a"), model(i)}}));
    });
    ::usleep(static_cast<useconds_t>(500 + 797 * (round % 20)));
    process.kill();
    process.ended_well();
    const Models now = load_models(file).value();
    ASSERT_GE(now.times.at(key("a")).seconds_per_flop, last);
    last = now.times.at(key("a")).seconds_per_flop;
  }
  EXPECT_GT(last, 1);
  save_changes(file, {}, of({{key("b"), model(1)}}));
  EXPECT_EQ(load_models(file)->times.size(), 2u);
}

TEST(StoredModels, ALockThatIsHeldIsAnErrorAndNoHang) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  save_changes(file, {}, of({{key("a"), model(1)}}));
  const int holder = ::open((file.string() + ".lock").c_str(), O_RDWR);
  ASSERT_GE(holder, 0);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  try {
    save_changes(file, {}, of({{key("b"), model(1)}}));
    ADD_FAILURE() << "saved in spite of the lock";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_NE(std::string(error.what()).find("lock"), std::string::npos) << error.what();
  }
  EXPECT_EQ(load_models(file)->times.size(), 1u);
  ::close(holder);
  save_changes(file, {}, of({{key("b"), model(1)}}));
  EXPECT_EQ(load_models(file)->times.size(), 2u);
}

TEST(StoredModels, FactorsAreBoundedAndTheLatestStay) {
  const Scratch scratch;
  const fs::path file = scratch / "here.json";
  Models after = of({});
  for (unsigned i = 0; i < 3 * most_learned; ++i)
    after.learned[key("unit" + std::to_string(i), "an operation of a long name, a very long name")] =
        learned(model(1.0 / 3), 1 + i / 3.0, i % 3 == 0 ? "2024-01-02" : "2024-01-01");
  save_changes(file, {}, after);
  const Models now = load_models(file).value();
  EXPECT_EQ(now.learned.size(), most_learned);
  for (const auto& [unit, one] : now.learned) EXPECT_EQ(one.when, "2024-01-02");
  EXPECT_LT(fs::file_size(file), 256u << 10);
}

}  // namespace
}  // namespace poas::test

// Learned time models: how long does a unit take for a block.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poas/forest.hpp"
#include "poas/machine.hpp"

namespace poas {

struct ModelKey {
  std::string unit, operation, implementation;
  Type type = Type::fp32;
  auto operator<=>(const ModelKey&) const = default;
};

// seconds = (fixed + padded_work * seconds_per_flop + bytes * seconds_per_byte) * factor, where padded_work
// rounds the extents up to tiles and the number of tiles up to a multiple of `parallel`
// (wave quantisation); tile 1 and parallel 1 leave the work as it is.  The factor is 1, or what a forest
// says of the shape.
struct TimeModel {
  Seconds fixed = 0;
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  Extents tile{1, 1, 1, 1, 1, 1, 1, 1};
  unsigned parallel = 1;
  double relative_error = 0;     // mean |predicted - measured| / measured, of samples that took no part if there are any
  unsigned samples = 0;          // 0: a default that nobody measured
  std::shared_ptr<const Forest> forest{};
};
bool operator==(const TimeModel& a, const TimeModel& b);

// Thread safe, no allocation, well under 1 us.
Flops padded_work(const TimeModel& model, const Operation& operation, const Extents& extents);
Seconds evaluate(const TimeModel& model, const Operation& operation, const Box& box);

// What was measured at one block: everything that the features need.
struct Sample {
  Extents extents{};
  Flops work = 0;
  Bytes bytes = 0;
  Seconds seconds = 0;
};
// Of the sample's block; its seconds are not looked at.
Seconds evaluate(const TimeModel& model, const Sample& sample, int ndims);
std::vector<Seconds> predictions(const TimeModel& model, const std::vector<Sample>& samples, int ndims);

// Relative errors |predicted - measured| / measured: their mean, the least bound that 95 of 100 keep, the worst; and the
// root of the mean square difference.  0 if there is no sample.
struct Errors {
  double mean = 0, of_95_in_100 = 0, worst = 0;
  Seconds rmse = 0;
};
Errors errors_of(const std::vector<Seconds>& predicted, const std::vector<Sample>& samples);
// Mean of |predicted - measured| / measured over at least one sample.
double mean_error(const TimeModel& model, const std::vector<Sample>& samples, int ndims);

// Weighted least squares on relative errors with coefficients >= 0, over a family of tiles of the
// first `ndims` dimensions; keeps the simplest within noise of the best.  Needs >= 3 valid samples;
// samples that are not finite and positive are dropped.  Throws Error(numerical) otherwise.
TimeModel fit(const std::vector<Sample>& samples, int ndims);

// A guess for a unit that nobody measured, from its kind and type alone.
TimeModel default_model(const Unit& unit, Type type, Precision precision);

// A guess of what one worker of such a unit draws above idle while it computes, from its kind alone; and of what a
// device draws idle, for cpu one core of the host.  Their relative error is 1: twice as much, or next to nothing.
Power default_power(UnitKind kind);
Power default_idle(UnitKind kind);
// What running tasks showed of one model: blocks take `factor` times as long as it says.
struct Learned {
  TimeModel model;                  // that model without its forest; of another one the factor says nothing
  double factor = 1;
  unsigned tasks = 0;               // that showed it
  std::string when;                 // date of the last of them that was stored, "" for this process
  bool operator==(const Learned&) const = default;
};

struct Models {
  std::string host;                 // where they were measured, "" if not known
  std::optional<Machine> machine;   // links and overheads as measured by calibration
  std::map<ModelKey, TimeModel> times;
  // Measured: of one worker above idle while it computes.  Apart from the times, as a unit whose time model came with
  // poas is measured all the same.
  std::map<ModelKey, Power> powers;
  std::map<ModelKey, Learned> learned;
  std::string when;                 // date of the calibration
  unsigned version = 0;             // counts changes; part of the plan cache's key
};

std::string to_json(const Models& models);
Models models_from_json(std::string_view text);

// $POAS_MODEL_DIR, else $XDG_DATA_HOME/poas, else ~/.local/share/poas; empty if none can be named.
std::filesystem::path model_directory();
// <directory>/<host>.json
std::filesystem::path model_file(const std::filesystem::path& directory, const std::string& host);
// <directory>/<product>.json with small letters and '-' for all but letters and digits: "nvidia-h200.json".  Its models
// have the product in the place of a unit.
std::filesystem::path product_file(const std::filesystem::path& directory, const std::string& product);
// Reads the file; nullopt if it is not there.  Throws Error(parse, version, invalid, io).
std::optional<Models> load_models(const std::filesystem::path& file);
// Writes a temporary file beside it and renames; makes the directories.  Throws Error(io).
void save_models(const std::filesystem::path& file, const Models& models);
// Writes what differs between the two into the file, and leaves what others wrote there meanwhile; all of `after` if
// the file is missing, cannot be read, or belongs to another host.  At most `most_learned` factors are kept, the last.
// Holds a lock beside the file, which ends with its process; waits about a second for it.  Throws Error(io).
void save_changes(const std::filesystem::path& file, const Models& before, const Models& after);
inline constexpr std::size_t most_learned = 256;

}  // namespace poas

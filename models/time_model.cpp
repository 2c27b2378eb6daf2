// Evaluation of a time model, and the guesses for units that nobody measured.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/padding.hpp"
#include "poas/models.hpp"

namespace poas {
namespace {

constexpr int precisions = 5;

// Order of magnitude of one worker: a CPU core or a whole device.  Rates in flop/s for the classes
// fp64, fp32, tf32, fp16, bf16; memory in byte/s; launch in seconds; power above idle and idle in watts, from the
// thermal design power of data sheets: servers have 4 to 8 W a core and draw a third of it idle, GPUs of that rate 150
// to 350 W and a tenth.
struct Guess {
  UnitKind kind;
  double rate[precisions];
  double memory;
  Seconds launch;
  Watts computing, idle;
};

constexpr Guess guesses[] = {
    // A core with 256-bit vectors; 16-bit types are converted and computed in fp32.
    {UnitKind::cpu, {15e9, 30e9, 30e9, 20e9, 20e9}, 10e9, 2e-6, 4, 2},
    // A mid-range GPU without fast fp64.
    {UnitKind::cuda, {0.3e12, 10e12, 10e12, 10e12, 10e12}, 500e9, 10e-6, 200, 25},
    // Its Tensor cores; fp32 accuracy takes three products or more of a lower class.
    {UnitKind::tensor, {1e12, 15e12, 60e12, 100e12, 100e12}, 500e9, 10e-6, 200, 25},
    // Anything from a CPU to a GPU: taken for a weak one, so that measuring it is no disappointment.
    {UnitKind::opencl, {5e9, 20e9, 20e9, 20e9, 20e9}, 10e9, 10e-6, 50, 10},
};

const Guess& guess_of(UnitKind kind) {
  return *std::find_if(std::begin(guesses), std::end(guesses) - 1,
                       [kind](const Guess& guess) { return guess.kind == kind; });
}

}  // namespace

double padded_points(const Extents& tile, unsigned parallel, const Extents& extents, int ndims) {
  double points = 1, tiles = 1;
  for (int d = 0; d < ndims; ++d) {
    const std::uint64_t side = tile[d];
    if (side <= 1) {
      points *= static_cast<double>(extents[d]);
      continue;
    }
    const auto count = static_cast<double>((extents[d] + side - 1) / side);
    points *= count * static_cast<double>(side);
    tiles *= count;
  }
  if (parallel <= 1 || tiles <= 0) return points;
  return points / tiles * std::ceil(tiles / parallel) * parallel;
}

Flops padded_work(const TimeModel& model, const Operation& operation, const Extents& extents) {
  const int ndims = static_cast<int>(std::min<std::size_t>(operation.dims.size(), max_dims));
  return operation.work_per_point * padded_points(model.tile, model.parallel, extents, ndims);
}

Seconds evaluate(const TimeModel& model, const Sample& sample, int ndims) {
  const double padded = padded_points(model.tile, model.parallel, sample.extents, ndims);
  const double work = sample.work * (padded / padded_points(TimeModel{}.tile, 1, sample.extents, ndims));
  const Seconds simple = model.fixed + work * model.seconds_per_flop + sample.bytes * model.seconds_per_byte;
  return model.forest ? simple * std::exp(model.forest->predict(sample.extents, ndims)) : simple;
}

Seconds evaluate(const TimeModel& model, const Operation& operation, const Box& box) {
  const Extents extents = extents_of(box);
  Seconds simple = model.fixed + padded_work(model, operation, extents) * model.seconds_per_flop;
  if (model.seconds_per_byte != 0) simple += bytes(operation, box) * model.seconds_per_byte;
  const int ndims = static_cast<int>(operation.dims.size());
  return model.forest ? simple * std::exp(model.forest->predict(extents, ndims)) : simple;
}

std::vector<Seconds> predictions(const TimeModel& model, const std::vector<Sample>& samples, int ndims) {
  std::vector<Seconds> result;
  for (const Sample& sample : samples) result.push_back(evaluate(model, sample, ndims));
  return result;
}

Errors errors_of(const std::vector<Seconds>& predicted, const std::vector<Sample>& samples) {
  Errors result;
  if (samples.empty()) return result;
  const auto count = static_cast<double>(samples.size());
  std::vector<double> errors;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    errors.push_back(std::abs(predicted[i] / samples[i].seconds - 1));
    result.mean += errors.back() / count;
    result.rmse += std::pow(predicted[i] - samples[i].seconds, 2) / count;
  }
  std::sort(errors.begin(), errors.end());
  result.of_95_in_100 = errors[static_cast<std::size_t>(std::ceil(0.95 * count)) - 1];
  result.worst = errors.back();
  result.rmse = std::sqrt(result.rmse);
  return result;
}

double mean_error(const TimeModel& model, const std::vector<Sample>& samples, int ndims) {
  double sum = 0;
  for (const Sample& sample : samples) sum += std::abs(evaluate(model, sample, ndims) / sample.seconds - 1);
  return sum / static_cast<double>(samples.size());
}

bool operator==(const TimeModel& a, const TimeModel& b) {
  const auto numbers = [](const TimeModel& m) {
    return std::tie(m.fixed, m.seconds_per_flop, m.seconds_per_byte, m.tile, m.parallel, m.relative_error, m.samples);
  };
  if (!a.forest || !b.forest) return numbers(a) == numbers(b) && a.forest == b.forest;
  return numbers(a) == numbers(b) && *a.forest == *b.forest;
}

TimeModel default_model(const Unit& unit, Type type, Precision precision) {
  // A class above that of the elements cannot be asked for: their own class is what is computed.
  const bool above = round_off(precision) < round_off(precision_of(type));
  const Guess& guess = guess_of(unit.kind);
  TimeModel model;
  model.fixed = guess.launch;
  model.seconds_per_flop = 1 / guess.rate[static_cast<int>(above ? precision_of(type) : precision)];
  model.seconds_per_byte = 1 / guess.memory;
  return model;
}

Power default_power(UnitKind kind) { return {guess_of(kind).computing, 1, false}; }

Power default_idle(UnitKind kind) { return {guess_of(kind).idle, 1, false}; }

}  // namespace poas

// `poas fit`: models from tables of single blocks, judged by blocks that took no part.
#include <ctime>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "models/training/train.hpp"
#include "poas/models.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

constexpr int gemm_dims = 3;

struct Options {
  std::vector<std::string> train, test;
  std::string out, note;
};

Type element_of(const std::string& type) { return type == "tf32" ? Type::fp32 : type_from_string(type); }

// By the tables that are of the same implementation.
void judge(const TimeModel& model, const training::Table& known, const Options& options) {
  std::vector<std::vector<std::string>> rows{{"model", "mean error", "95 of 100 within", "RMSE"}};
  for (const std::string& file : options.test) {
    const training::Table asked = training::read_table(file);
    if (asked.implementation != known.implementation) continue;
    const std::string of = ", " + std::to_string(asked.samples.size()) + " blocks of " + file;
    const auto add = [&](const std::string& name, const std::vector<Seconds>& predicted) {
      const Errors errors = errors_of(predicted, asked.samples);
      rows.push_back({name + of, percent(errors.mean), percent(errors.of_95_in_100), with_unit(errors.rmse, "s")});
    };
    TimeModel simple = model;
    simple.forest = nullptr;
    if (model.forest) add("with trees", predictions(model, asked.samples, gemm_dims));
    add("without trees", predictions(simple, asked.samples, gemm_dims));
    add("linear regression", training::linear_regression(known.samples, asked.samples));
  }
  std::cout << known.implementation << " on " << known.device << ", from " << known.samples.size() << " blocks\n"
            << table(rows) << "\n";
}

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&seconds));
  return text;
}

int fit_tables(const Options& options) {
  Models models;
  models.when = today() + (options.note.empty() ? "" : ", " + options.note);
  for (const std::string& file : options.train) {
    const training::Table known = training::read_table(file);
    const TimeModel model = training::train(known.samples, gemm_dims, known.multiprocessors);
    judge(model, known, options);
    models.times[{known.device, "gemm", known.implementation, element_of(known.type)}] = model;
  }
  if (!options.out.empty()) save_models(options.out, models);
  return done;
}

}  // namespace

void add_fit(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("fit", "fit models of a kind of GPU to tables of gpu_samples");
  sub->add_option("--train", options->train, "tables to fit to, one an implementation")->required();
  sub->add_option("--test", options->test, "tables to judge by");
  sub->add_option("--out", options->out, "write the models to this file");
  sub->add_option("--note", options->note, "who measured what: kept in the file");
  sub->footer("Files in share/poas/models, named after the product (nvidia-h200.json), serve every such device.");
  sub->callback([options, &action] { action = [options] { return fit_tables(*options); }; });
}

}  // namespace poas::tool

// Words for enumerators: the same in messages, JSON files and environment variables.
#include <iterator>
#include <utility>

#include "poas/error.hpp"
#include "poas/plan.hpp"

namespace poas {
namespace {

template <typename Enum>
struct Name {
  Enum value;
  const char* word;
};

constexpr Name<UnitKind> unit_kinds[] = {{UnitKind::cpu, "cpu"},
                                         {UnitKind::cuda, "cuda"},
                                         {UnitKind::tensor, "tensor"},
                                         {UnitKind::opencl, "opencl"}};
constexpr Name<Type> types[] = {
    {Type::fp64, "fp64"}, {Type::fp32, "fp32"}, {Type::fp16, "fp16"}, {Type::bf16, "bf16"}};
constexpr Name<Precision> precisions[] = {{Precision::fp64, "fp64"},
                                          {Precision::fp32, "fp32"},
                                          {Precision::tf32, "tf32"},
                                          {Precision::fp16, "fp16"},
                                          {Precision::bf16, "bf16"}};
constexpr Name<SolveStatus> statuses[] = {{SolveStatus::optimal, "optimal"},
                                          {SolveStatus::feasible, "feasible"},
                                          {SolveStatus::infeasible, "infeasible"},
                                          {SolveStatus::unbounded, "unbounded"},
                                          {SolveStatus::time_limit, "time_limit"},
                                          {SolveStatus::no_solver, "no_solver"},
                                          {SolveStatus::numerical, "numerical"}};
constexpr Name<SplitMode> split_modes[] = {
    {SplitMode::automatic, "auto"}, {SplitMode::never, "never"}, {SplitMode::always, "always"}};
constexpr Name<Objective> objectives[] = {{Objective::time, "time"}};

template <typename Enum, std::size_t Count>
const char* word_of(const Name<Enum> (&names)[Count], Enum value) {
  for (const auto& name : names)
    if (name.value == value) return name.word;
  return "unknown";
}

template <typename Enum, std::size_t Count>
Enum value_of(const Name<Enum> (&names)[Count], const char* what, const std::string& word) {
  std::string known;
  for (const auto& name : names) {
    if (word == name.word) return name.value;
    known += known.empty() ? "" : ", ";
    known += name.word;
  }
  throw Error(Errc::invalid, "unknown " + std::string(what) + " \"" + word + "\": use one of " + known);
}

}  // namespace

const char* to_string(UnitKind kind) { return word_of(unit_kinds, kind); }
const char* to_string(Type type) { return word_of(types, type); }
const char* to_string(Precision precision) { return word_of(precisions, precision); }
const char* to_string(SolveStatus status) { return word_of(statuses, status); }
const char* to_string(SplitMode mode) { return word_of(split_modes, mode); }

Type type_from_string(const std::string& word) { return value_of(types, "element type", word); }
Precision precision_from_string(const std::string& word) {
  return value_of(precisions, "precision", word);
}
UnitKind unit_kind_from_string(const std::string& word) { return value_of(unit_kinds, "unit kind", word); }
Objective objective_from_string(const std::string& word) { return value_of(objectives, "objective", word); }
SplitMode split_mode_from_string(const std::string& word) {
  return value_of(split_modes, "split mode", word);
}

}  // namespace poas

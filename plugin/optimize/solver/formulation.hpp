// The division as a mixed integer program, without any solver library.
//
// Scaling: the makespan is a column in [0, 1] relative to a time within which some division is known
// to be possible, and the share of a unit is a column in [0, 1] relative to what the unit can do in
// that time.  So no coefficient is over 1, however far apart the units are; a unit that cannot do its
// least share in that time has no column at all; and the closer that time is to the optimum, the
// closer is the program without integers to the one with them.
#pragma once

#include <vector>

#include "optimize/problem.hpp"

namespace poas::detail {

enum class Kind { continuous, binary };

// lower <= column <= 1
struct Column {
  Kind kind;
  double lower, cost;
};

// lower <= row <= upper; either may be infinite.
struct Row {
  double lower, upper;
};

// Minimise the cost.  Columns and rows are numbered from 1; the numbers come from add_column and
// add_row only.
class Program {
 public:
  int add_column(Kind kind, double lower, double cost = 0) {
    columns.push_back({kind, lower, cost});
    return static_cast<int>(columns.size());
  }
  int add_row(double lower, double upper) {
    rows.push_back({lower, upper});
    return static_cast<int>(rows.size());
  }
  // Adds to the coefficient.
  void add(int row, int column, double value) {
    if (value == 0) return;
    for (std::size_t i = values.size() - 1; i > 0 && row_of[i] == row; --i)
      if (column_of[i] == column) {
        values[i] += value;
        return;
      }
    row_of.push_back(row);
    column_of.push_back(column);
    values.push_back(value);
  }

  std::vector<Column> columns;
  std::vector<Row> rows;
  // Triplets of the matrix, from element 1 on.
  std::vector<int> row_of{0}, column_of{0};
  std::vector<double> values{0};
};

class Formulation {
 public:
  // `time`: makespan of a division that is possible; slower ones are not in the program.  Keeps a
  // reference to the problem.
  Formulation(const DivisionProblem& problem, Seconds time);

  const Program& program() const { return program_; }
  // Values of the columns (from element 1 on) as makespan and as items of each unit, which are
  // allowed up to rounding if the values are integral.
  Seconds makespan(const std::vector<double>& values) const;
  std::vector<double> items(const std::vector<double>& values) const;
  // Whether every forced unit can do its least share within the time.
  bool forced_can_take_part() const;

 private:
  double most_items(const UnitTerms& unit) const;
  bool needless(std::size_t unit) const;
  void add_columns();
  void add_sum();
  void bind_share(std::size_t unit);
  int time_row();
  void add_own_time(int row, std::size_t unit, Seconds slope);
  void add_link(int row, std::size_t device, const Line& line);
  void limit_compute(std::size_t device);
  void limit_link(std::size_t device, const Line& line);
  void limit_use(std::size_t device);
  void limit_host_link();
  template <typename Visit>
  void each_unit_of(std::size_t device, Visit visit) const;

  const DivisionProblem& problem_;
  const Seconds time_;
  std::vector<double> most_;        // per unit: items within time_, 0: it cannot take part
  Program program_;
  // Columns; 0: left out.
  int makespan_ = 0;
  std::vector<int> share_, used_;   // per unit
  std::vector<int> device_;         // per device: whether it is used; that of its only unit if there is one
};

}  // namespace poas::detail

// How far a long command has come, on stderr: one line that is rewritten on a terminal, else a line now and then.
#pragma once

#include <string>

#include "poas/runtime.hpp"

namespace poas::tool {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { close(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const CalibrationProgress& progress);
  // A line that stays.
  void say(const std::string& words);

 private:
  void close();  // the line that is rewritten, if there is one

  bool terminal_, open_ = false;
  std::string what_;
  int tenths_ = -1;  // of the work, as told last
};

}  // namespace poas::tool

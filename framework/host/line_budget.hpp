// LineBudget: keeps a flood of log lines from filling the disk.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"

namespace spotmesh {

// Each component has a budget for each level, so that a flood of one keeps nothing else out: a
// number of lines per second, of which ten seconds' worth can be saved up. One thread at a time.
class LineBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Verdict {
    bool is_admitted;
    std::size_t left_out = 0;  // lines of this source, just before one that is admitted
  };
  struct LeftOut {
    std::string_view component;
    LogLevel level;
    std::size_t lines;
  };

  explicit LineBudget(std::size_t lines_per_second) : per_second_(lines_per_second) {}

  // `component` is a literal.
  Verdict judge(std::string_view component, LogLevel level, Time now);
  // What has been left out and not been told by a verdict yet.
  std::vector<LeftOut> left_out() const;

 private:
  struct Account {
    double lines;  // that may be written now
    Time counted_at;
    std::size_t left_out = 0;
  };

  const std::size_t per_second_;
  std::map<std::pair<std::string_view, LogLevel>, Account> accounts_;
};

}  // namespace spotmesh

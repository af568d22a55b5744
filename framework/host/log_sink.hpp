// The production LogSink.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "host/line_budget.hpp"
#include "host/log_format.hpp"

namespace spdlog {
class logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace spotmesh {

struct LogSinkOptions {
  LogLevel lowest = LogLevel::Info;
  LogFormat format = LogFormat::Text;
  std::string file;                // appended to; empty: standard error
  std::size_t queue_lines = 8192;  // lines that wait for the device
  // Of one component and level, in the long run; ten times as many at once. 0: no bound. Lines of
  // level Debug are never left out: whoever turns them on wants all of them.
  std::size_t lines_per_second = 100;
};

// Formats on the caller's thread and writes on one of its own. A device that cannot follow costs
// the oldest lines that wait, never the caller's time; the next line that is written says how many
// were lost. So does the next line of a component whose lines were left out, and the end.
class SpdlogSink final : public LogSink {
 public:
  // ConfigurationError when the file cannot be opened.
  explicit SpdlogSink(LogSinkOptions options = {});
  ~SpdlogSink() override;  // writes what waits

  bool is_enabled(LogLevel level) const override { return level >= options_.lowest; }
  void write(LogLevel level, std::string_view component, std::string message,
             std::vector<LogField> fields) override;

 private:
  void write_line(LogLevel level, std::string_view component, std::string_view message,
                  const std::vector<LogField>& fields);
  void report_lost_lines();
  // Whether a line is within its component's budget.
  bool is_affordable(LogLevel level, std::string_view component);
  void report_left_out(const LineBudget::LeftOut& left_out);

  const LogSinkOptions options_;
  std::shared_ptr<spdlog::details::thread_pool> thread_;
  std::shared_ptr<spdlog::logger> logger_;
  std::atomic<std::size_t> lost_reported_{0};
  std::mutex budget_mutex_;
  LineBudget budget_;
};

}  // namespace spotmesh

#include "host/log_sink.hpp"

#include <fmt/core.h>
#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <chrono>
#include <csignal>
#include <utility>

#include <spotmesh/error.hpp>

namespace spotmesh {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::sink_ptr open_device(const std::string& file) {
  if (file.empty()) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  } catch (const spdlog::spdlog_ex& error) {
    throw ConfigurationError(fmt::format("the log file cannot be opened: {}", error.what()));
  }
}

// Signals belong to the thread of main().
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

WallTime wall_now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

}  // namespace

SpdlogSink::SpdlogSink(LogSinkOptions options)
    : options_(std::move(options)),
      thread_(
          std::make_shared<spdlog::details::thread_pool>(options_.queue_lines, 1, block_signals)),
      budget_(options_.lines_per_second) {
  logger_ = std::make_shared<spdlog::async_logger>("spotmesh", open_device(options_.file), thread_,
                                                   spdlog::async_overflow_policy::overrun_oldest);
  logger_->set_level(spdlog::level::debug);
  logger_->set_pattern("%v");
  logger_->flush_on(spdlog::level::info);
}

SpdlogSink::~SpdlogSink() {
  for (const auto& left_out : budget_.left_out()) report_left_out(left_out);
}

void SpdlogSink::write(LogLevel level, std::string_view component, std::string message,
                       std::vector<LogField> fields) {
  if (!is_enabled(level) || !is_affordable(level, component)) return;
  report_lost_lines();
  write_line(level, component, message, fields);
}

void SpdlogSink::report_lost_lines() {
  const std::size_t lost = thread_->overrun_counter();
  const std::size_t before = lost_reported_.exchange(lost);
  if (lost <= before) return;
  write_line(LogLevel::Warning, "log", "lines were lost: the device is too slow",
             {{"count", fmt::format("{}", lost - before)}});
}

bool SpdlogSink::is_affordable(LogLevel level, std::string_view component) {
  if (options_.lines_per_second == 0 || level == LogLevel::Debug) return true;
  LineBudget::Verdict verdict;
  {
    const std::scoped_lock lock(budget_mutex_);
    verdict = budget_.judge(component, level, std::chrono::steady_clock::now());
  }
  if (verdict.left_out > 0) report_left_out({component, level, verdict.left_out});
  return verdict.is_admitted;
}

void SpdlogSink::report_left_out(const LineBudget::LeftOut& left_out) {
  write_line(LogLevel::Warning, "log", "lines were left out: there were more than may be written",
             {{"component", std::string(left_out.component)},
              {"level", std::string(level_name(left_out.level))},
              {"count", fmt::format("{}", left_out.lines)}});
}

void SpdlogSink::write_line(LogLevel level, std::string_view component, std::string_view message,
                            const std::vector<LogField>& fields) {
  logger_->log(spdlog_level(level),
               spdlog::string_view_t(format_log_line(
                   options_.format, {wall_now(), level, component, message, &fields})));
}

}  // namespace spotmesh

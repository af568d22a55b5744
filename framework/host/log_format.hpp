// One log line as text or as JSON. Nothing in a value can end the line, forge a field or steer a
// terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/time.hpp>

#include "base/log.hpp"

namespace spotmesh {

enum class LogFormat { Text, Json };

struct LogRecord {
  WallTime time;
  LogLevel level = LogLevel::Info;
  std::string_view component;
  std::string_view message;
  const std::vector<LogField>* fields = nullptr;
};

// In UTC, to the millisecond: "2026-11-30T14:00:01.250Z".
std::string iso_time(WallTime time);

// "debug", "info", "warning", "error".
std::string_view level_name(LogLevel level);

// Text:  2026-11-30T14:00:01.250Z INFO  stream "session closed" session=17 reason="closed by peer"
// Json:
// {"time":"2026-…Z","level":"info","component":"stream","message":"…","fields":{"session":"17"}}
//
// Text escapes quotes, backslashes, control characters, bytes that are not UTF-8 (\xff) and
// characters that reorder or break lines (\u{202e}). JSON escapes the same by its own rules; bytes
// that are not UTF-8 become U+FFFD there. The line has no newline at its end.
std::string format_log_line(LogFormat format, const LogRecord& record);

// Appends `text` as a JSON string with its quotes, escaped as in such a line.
void add_json_string(std::string& out, std::string_view text);

}  // namespace spotmesh

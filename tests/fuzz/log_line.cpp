// Log lines: nothing in a message or a value ends the line, forges a field or steers a terminal.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "host/log_format.hpp"
#include "wire/json.hpp"

namespace spotmesh::fuzz {
namespace {

bool has_control_characters(std::string_view line) {
  return std::ranges::any_of(line, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
}

void check_line(std::string_view line) {
  require(is_valid_utf8(line), "a log line is UTF-8");
  require(!has_control_characters(line), "a log line has no control characters");
  for (const std::string_view steering : {"\u202e", "\u2066", "\u2028", "\u0085", "\ufeff"}) {
    require(line.find(steering) == line.npos, "a log line reads in one direction");
  }
}

// Quotes that no backslash escapes come in pairs, and an unquoted value holds no space.
void check_text(std::string_view line) {
  bool is_inside = false;
  std::size_t spaces = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_inside && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      is_inside = !is_inside;
    } else if (!is_inside && line[i] == ' ') {
      ++spaces;
    }
  }
  require(!is_inside, "every quote of a log line is closed");
  // Behind time, padded level, component and message.
  require(spaces == 5, "a log line has no field that was not given");
}

void check_json(std::string_view line, std::string_view message, std::string_view value) {
  const auto parsed = wire::parse_json(line);
  require(parsed.has_value(), "a log line as JSON is JSON");
  require(parsed->size() == 5 && parsed->at("fields").size() == 1, "no field was forged");
  require(!is_valid_utf8(message) || parsed->at("message") == message,
          "a message is told as it is");
  require(!is_valid_utf8(value) || parsed->at("fields").at("id") == value,
          "a value is told as it is");
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const std::size_t split = input.take_byte();
  const auto text = input.rest_text();
  const auto message = text.substr(0, split);
  const auto value = text.substr(message.size());
  const std::vector<LogField> fields{{"id", std::string(value)}};
  const LogRecord record{.time = {1'700'000'000'000},
                         .level = LogLevel::Info,
                         .component = "net",
                         .message = message,
                         .fields = &fields};
  const auto line = format_log_line(LogFormat::Text, record);
  check_line(line);
  check_text(line);
  const auto json = format_log_line(LogFormat::Json, record);
  check_line(json);
  check_json(json, message, value);
}

}  // namespace spotmesh::fuzz

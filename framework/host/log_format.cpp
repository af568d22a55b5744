#include "host/log_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>

#include "base/utf8.hpp"

namespace spotmesh {

namespace {

struct Character {
  std::size_t length = 1;  // bytes
  bool is_valid = false;
  char32_t code_point = 0;
};

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, true, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (text.size() < length || !is_valid_utf8(text.substr(0, length))) return {};
  char32_t code_point = lead & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return {length, true, code_point};
}

// Control characters, and those that break a line or change the direction of what follows.
bool is_unsafe(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0x061c ||
         (c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

template <typename... Args>
void add(std::string& line, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
}

void add_text_escape(std::string& line, char32_t c) {
  switch (c) {
    case '\n':
      line += "\\n";
      return;
    case '\r':
      line += "\\r";
      return;
    case '\t':
      line += "\\t";
      return;
    default:
      if (c < 0x80) {
        add(line, "\\x{:02x}", static_cast<std::uint32_t>(c));
      } else {
        add(line, "\\u{{{:x}}}", static_cast<std::uint32_t>(c));
      }
  }
}

void add_text_quoted(std::string& line, std::string_view text) {
  line += '"';
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!c.is_valid) {
      add(line, "\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (c.code_point == '"' || c.code_point == '\\') {
      line += '\\';
      line += text[0];
    } else if (is_unsafe(c.code_point)) {
      add_text_escape(line, c.code_point);
    } else {
      line += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  line += '"';
}

bool needs_no_quotes(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:/@+-").find(c) != std::string_view::npos;
  });
}

struct LevelNames {
  std::string_view text;
  std::string_view json;
};

LevelNames names_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return {"DEBUG", "debug"};
    case LogLevel::Info:
      return {"INFO", "info"};
    case LogLevel::Warning:
      return {"WARN", "warning"};
    case LogLevel::Error:
      return {"ERROR", "error"};
  }
  return {"?", "unknown"};
}

std::string as_text_line(const LogRecord& record) {
  std::string line = fmt::format("{} {:<5} {} ", iso_time(record.time), names_of(record.level).text,
                                 record.component);
  add_text_quoted(line, record.message);
  if (record.fields == nullptr) return line;
  for (const LogField& field : *record.fields) {
    add(line, " {}=", field.key);
    if (needs_no_quotes(field.value)) {
      line += field.value;
    } else {
      add_text_quoted(line, field.value);
    }
  }
  return line;
}

std::string as_json_line(const LogRecord& record) {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","component":)",
                                 iso_time(record.time), names_of(record.level).json);
  add_json_string(line, record.component);
  line += ",\"message\":";
  add_json_string(line, record.message);
  line += ",\"fields\":{";
  bool is_first = true;
  if (record.fields != nullptr) {
    for (const LogField& field : *record.fields) {
      if (!is_first) line += ',';
      is_first = false;
      add_json_string(line, field.key);
      line += ':';
      add_json_string(line, field.value);
    }
  }
  line += "}}";
  return line;
}

}  // namespace

std::string iso_time(WallTime time) {
  const std::int64_t milliseconds = ((time.unix_milliseconds % 1000) + 1000) % 1000;
  const std::time_t seconds = (time.unix_milliseconds - milliseconds) / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     milliseconds);
}

void add_json_string(std::string& line, std::string_view text) {
  line += '"';
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!c.is_valid) {
      line += "\\ufffd";
    } else if (c.code_point == '"' || c.code_point == '\\') {
      line += '\\';
      line += text[0];
    } else if (is_unsafe(c.code_point)) {
      add(line, "\\u{:04x}", static_cast<std::uint32_t>(c.code_point));
    } else {
      line += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  line += '"';
}

std::string_view level_name(LogLevel level) { return names_of(level).json; }

std::string format_log_line(LogFormat format, const LogRecord& record) {
  return format == LogFormat::Json ? as_json_line(record) : as_text_line(record);
}

}  // namespace spotmesh

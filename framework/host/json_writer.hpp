// JsonWriter: JSON for operators and their tools, written front to back.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::host {

// The caller keeps to the grammar; commas, quotes and escapes are written here. Texts are escaped
// as those of log lines, so that nothing in an id steers the terminal that shows it.
class JsonWriter {
 public:
  void begin_object() { begin('{'); }
  void begin_object(std::string_view key) { begin('{', key); }
  void end_object() { end('}'); }
  void begin_array(std::string_view key) { begin('[', key); }
  void end_array() { end(']'); }

  void text(std::string_view value);
  // A value that is JSON already.
  void raw(std::string_view json);
  void raw_field(std::string_view key, std::string_view json) { write(key, json); }
  void field(std::string_view key, std::string_view value);
  void field(std::string_view key, std::same_as<bool> auto value) {
    write(key, value ? "true" : "false");
  }
  void field(std::string_view key, std::integral auto value)
    requires(!std::same_as<decltype(value), bool>)
  {
    write(key, fmt::format_int(value).c_str());
  }
  // A 64-bit number as a decimal text, which no reader of JSON rounds.
  void exact_field(std::string_view key, std::uint64_t value) {
    field(key, std::string_view(fmt::format_int(value).c_str()));
  }
  void null_field(std::string_view key) { write(key, "null"); }

  // The document, ended by a newline.
  std::string take();
  // The same without it, to stand within another one.
  std::string take_value() { return std::move(out_); }

 private:
  void begin(char bracket);
  void begin(char bracket, std::string_view key);
  void end(char bracket);
  void write_key(std::string_view key);
  void write(std::string_view key, std::string_view raw);
  void separate();

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace spotmesh::host

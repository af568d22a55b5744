// Settings: one configuration file, overridden by the environment, overridden by flags.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>

namespace spotmesh {

// The values a process was started with. A setting `stream.port` comes from, lowest first: its
// default; the file spotmesh.toml (`[stream]` then `port = 8080`); the environment
// (SPOTMESH_STREAM_PORT); a flag (--stream.port=8080).
//
// A setting exists once it has been declared; declaring gives its value. check() then refuses
// whatever the sources hold that nobody declared, so a misspelt key stops the start. Every fault is
// a ConfigurationError that names file and line, variable or flag, and what is allowed. Not
// thread-safe: used while a process starts.
class Settings {
 public:
  struct Range {
    std::int64_t lowest;
    std::int64_t highest;
  };
  struct DurationRange {
    std::chrono::milliseconds shortest;
    std::chrono::milliseconds longest;
  };
  using Environment = std::map<std::string, std::string>;

  // Reads the flags (without the program's name), then the file they name with --config=FILE, else
  // spotmesh.toml in the working directory if there is one. `--print-config` and `--help` are
  // noted, not acted on.
  Settings(std::vector<std::string> flags, Environment environment);

  std::string text(std::string_view key, std::string_view fallback, std::string_view meaning);
  // A text of which `is_allowed` is true; `allowed` says in words what that is.
  std::string text(std::string_view key, std::string_view fallback,
                   const std::function<bool(std::string_view)>& is_allowed,
                   std::string_view allowed, std::string_view meaning);
  // A secret, or nothing. It stands in the environment variable of `key`, or in the file that the
  // setting `<key>_file` names, whose last line may end in a newline; anywhere else it is refused.
  // It has 16 to 1024 characters of printable ASCII without spaces, and is shown nowhere.
  std::string secret(std::string_view key, std::string_view meaning);
  std::int64_t integer(std::string_view key, std::int64_t fallback, Range range,
                       std::string_view meaning);
  bool boolean(std::string_view key, bool fallback, std::string_view meaning);
  // In the file and elsewhere a text with its unit: "250ms", "30s", "5m", "2h".
  std::chrono::milliseconds duration(std::string_view key, std::chrono::milliseconds fallback,
                                     DurationRange range, std::string_view meaning);
  // In the file an array of texts; elsewhere separated by commas.
  std::vector<std::string> texts(std::string_view key, std::vector<std::string> fallback,
                                 std::string_view meaning);
  // One of `allowed`.
  std::string choice(std::string_view key, std::string_view fallback,
                     std::vector<std::string> allowed, std::string_view meaning);

  // Throws ConfigurationError for the first key of file, environment or flags that nothing has
  // declared; the nearest declared key is suggested.
  void check() const;

  // "spotmesh.toml:12", "SPOTMESH_STREAM_PORT", "--stream.port" or "default", of a declared
  // setting.
  const std::string& origin(std::string_view key) const;

  bool wants_help() const { return wants_help_; }
  bool wants_print() const { return wants_print_; }
  // Every declared setting as TOML with a comment that says where its value came from.
  std::string effective() const;
  // Every declared setting with meaning, default and what is allowed.
  std::string help() const;

 private:
  struct Value {
    std::string text;               // of a scalar
    std::vector<std::string> list;  // of an array
    enum class Kind { Text, Integer, Boolean, List, Other } kind = Kind::Text;
    std::string origin;  // "spotmesh.toml:12", "SPOTMESH_STREAM_PORT", "--stream.port"
    bool is_from_file = false;
  };
  struct Declared {
    std::string toml;    // the value as TOML
    std::string origin;  // "default" or where it came from
    std::string meaning;
    std::string allowed;
    std::string fallback;
  };

  void read_flags(const std::vector<std::string>& flags);
  void read_file(const std::string& path);
  void read_environment(const Environment& environment);
  const Value* find(std::string_view key);
  void declare(std::string_view key, Declared declared);
  std::string read_secret(std::string_view key, const std::string& file) const;
  [[noreturn]] void refuse(std::string_view key, const Value& value,
                           std::string_view allowed) const;

  std::map<std::string, Value, std::less<>> file_;
  std::map<std::string, Value, std::less<>> environment_;  // keyed by variable name
  std::map<std::string, Value, std::less<>> flags_;
  std::map<std::string, Declared, std::less<>> declared_;
  bool wants_help_ = false;
  bool wants_print_ = false;
};

}  // namespace spotmesh

// Logger: log lines of a game object, labelled with what it is.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spotmesh {

class LogSink;

// Writes to the process's log without blocking. Each line carries the object's own fields (the
// Actor's or Spot's id, the session). Safe from any thread.
class Logger {
 public:
  // Keys are literals; values may hold any bytes.
  using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;

  Logger(LogSink& sink, std::string_view component,
         std::vector<std::pair<std::string_view, std::string>> own_fields)
      : sink_(&sink), component_(component), own_fields_(std::move(own_fields)) {}

  void debug(std::string message, Fields fields = {}) const;
  void info(std::string message, Fields fields = {}) const;
  void warning(std::string message, Fields fields = {}) const;
  void error(std::string message, Fields fields = {}) const;

 private:
  LogSink* sink_;
  std::string_view component_;
  std::vector<std::pair<std::string_view, std::string>> own_fields_;
};

}  // namespace spotmesh

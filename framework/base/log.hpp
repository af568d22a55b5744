// The LogSink and EventSink seams: what the runtime has to say, without knowing where it goes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spotmesh {

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

struct LogField {
  std::string_view key;  // a literal
  std::string value;
};

// Implementations are safe from any thread, bounded, and never block the caller on a device.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual bool is_enabled(LogLevel level) const = 0;
  // `component` and the keys are literals; values may hold any bytes, the sink escapes them.
  virtual void write(LogLevel level, std::string_view component, std::string message,
                     std::vector<LogField> fields) = 0;
};

// One thing that happened to the cluster's objects; feeds the trace hash of a simulated run and the
// admin event stream.
struct Event {
  std::string_view kind;  // a literal, e.g. "actor.created"
  std::string subject;    // the ActorId, SpotId, session or node
  std::vector<LogField> fields;
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void emit(Event event) = 0;
};

}  // namespace spotmesh

// EventLog: the node's events as lines of the log.
#pragma once

#include "base/log.hpp"

namespace spotmesh::host {

// Events are frequent (each Actor, each Join), hence at level Debug.
class EventLog final : public EventSink {
 public:
  explicit EventLog(LogSink& log) : log_(log) {}
  void emit(Event event) override {
    if (!log_.is_enabled(LogLevel::Debug)) return;
    event.fields.push_back({"subject", std::move(event.subject)});
    log_.write(LogLevel::Debug, "event", std::string(event.kind), std::move(event.fields));
  }

 private:
  LogSink& log_;
};

}  // namespace spotmesh::host

// EventRing: what has happened at this node lately, numbered, for those who watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "runtime/clock.hpp"

namespace spotmesh::host {

// Any thread. Keeps the latest events, bounded in number and bytes, whether anybody watches or not:
// who asks why an Actor is stuck wants to know what was before. Each is a line of the log, too, at
// level Debug.
class EventRing final : public EventSink {
 public:
  struct Bounds {
    std::size_t events = 32'768;
    std::size_t bytes = 8 * 1024 * 1024;
  };
  // Both outlive it.
  EventRing(LogSink& log, const runtime::Clock& clock) : EventRing(log, clock, Bounds()) {}
  EventRing(LogSink& log, const runtime::Clock& clock, Bounds bounds)
      : log_(log), clock_(clock), bounds_(bounds) {}

  void emit(Event event) override;

  // Events count from 1. A first one later than `after` + 1 means that those between are gone.
  struct Part {
    std::uint64_t first = 0;  // of `rows`; 0: there is none
    std::uint64_t last = 0;   // of `rows`, else of all
    std::vector<std::string> rows;
  };
  // Up to `most` of those after that one, as JSON.
  Part after(std::uint64_t number, std::size_t most) const;
  std::uint64_t last() const;
  // Up to `most` of the latest about that subject, the oldest first.
  std::vector<std::string> about(std::string_view subject, std::size_t most) const;

  // `heard` is called once, when there is an event after that one: within the call, or later by
  // whoever says it; it only hands over. The value is for forget().
  std::uint64_t when_after(std::uint64_t number, std::function<void()> heard);
  void forget(std::uint64_t waiter);

 private:
  struct Kept {
    std::uint64_t number = 0;
    WallTime time;
    Event event;
  };
  using KeptRef = std::shared_ptr<const Kept>;
  static std::size_t bytes_of(const Kept& kept);
  static std::string row_of(const Kept& kept);

  LogSink& log_;
  const runtime::Clock& clock_;
  const Bounds bounds_;
  mutable std::mutex mutex_;  // the following
  std::deque<KeptRef> kept_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t waiters_ = 0;
  std::map<std::uint64_t, std::function<void()>> waiting_;
};

}  // namespace spotmesh::host

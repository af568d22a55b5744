// The Timers seam: one-shot timers below everything else. Keyed, repeating timers of Actors and
// Spots are built on it.
#pragma once

#include <cstdint>

#include <spotmesh/time.hpp>

namespace spotmesh::runtime {

// An intrusive entry: arming allocates nothing. The owner keeps it alive while armed; on_timer()
// runs on some worker thread of the node, off any gate, and must only hand work over (submit a
// Strand or push to a mailbox).
class TimerEntry {
 public:
  virtual ~TimerEntry() = default;
  virtual void on_timer(Instant now) = 0;

 private:
  friend class TimerWheel;
  TimerEntry* previous_ = nullptr;
  TimerEntry* next_ = nullptr;
  Instant deadline_{};
  std::uint64_t sequence_ = 0;
  std::uint32_t slot_ = 0;
  bool is_armed_ = false;
};

// Safe from any thread. arm() of an armed entry moves it. After cancel() returns, on_timer() is not
// running and will not run for that arming (cancel from within on_timer() of the same entry is
// allowed and a no-op).
class Timers {
 public:
  virtual ~Timers() = default;
  virtual void arm(TimerEntry& entry, Instant deadline) = 0;
  // true when the entry was armed and has been taken out before it fired.
  virtual bool cancel(TimerEntry& entry) = 0;
};

}  // namespace spotmesh::runtime

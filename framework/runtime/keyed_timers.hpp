// KeyedTimers: the named timers of one Actor or Spot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/timer.hpp>

#include "base/small_mutex.hpp"
#include "runtime/clock.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/timers.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::runtime {

// Who runs the ticks: like a Job, on the gate of the mailbox.
class TimerOwner {
 public:
  virtual ~TimerOwner() = default;
  // `key` and `tick` stay valid until tick_finished() has returned.
  virtual Task<void> run_tick(Turn& turn, std::string_view key, const TimerTick& tick) = 0;
  // For Job::what().
  virtual std::string_view name_of_tick(std::string_view) const { return "a timer"; }
  // Must not throw.
  virtual void tick_finished(Turn& turn, std::string_view key, std::exception_ptr failure) = 0;
};

struct TimerSchedule {
  Duration first_after{};  // from the start to the first tick; 0: at once
  Duration interval{};     // 0: one tick only
  OverrunPolicy overrun = OverrunPolicy::skip_late_ticks();
};

// A timer as it travels with its owner.
struct TimerState {
  std::string key;
  std::uint64_t generation = 0;
  Duration interval{};
  OverrunPolicy overrun = OverrunPolicy::skip_late_ticks();
  TimerTick next;        // the tick that comes next
  Duration remaining{};  // until its point of the schedule; negative when that has passed
};

// Timers are user callbacks: each tick is a job in the application lane of the owner's mailbox, so
// a key runs on its owner's gate and never concurrently with itself, and at most one tick of a key
// waits. Starting a key again begins a new generation; no tick of an old one runs, not even one
// that waits already. While the lane is full a tick tries again every full_lane_retry.
//
// start(), cancel() and close() are safe from any thread that keeps the owner alive, but not from
// within on_timer() of another entry. The mailbox and the TimerOwner outlive the KeyedTimers, whose
// destructor closes them.
class KeyedTimers {
 public:
  static constexpr Duration full_lane_retry = std::chrono::milliseconds(10);
  static constexpr Duration shortest_interval = std::chrono::milliseconds(1);

  KeyedTimers(Clock& clock, Timers& timers, Mailbox& mailbox, TimerOwner& owner,
              std::size_t bound = limits::timers_per_owner);
  KeyedTimers(const KeyedTimers&) = delete;
  KeyedTimers& operator=(const KeyedTimers&) = delete;
  ~KeyedTimers();

  // InvalidOperation when the interval lies between 0 and 1 ms or a time is negative,
  // CapacityExceeded past `bound` keys, Unavailable after close().
  Result<void> start(std::string_view key, const TimerSchedule& schedule);
  // Whether the key had a timer whose last tick had not ended. No tick starts once it has returned;
  // one that is running goes on.
  bool cancel(std::string_view key);
  // Ends all timers; nothing can be started any more.
  void close();
  std::size_t size() const;

  // For moves, while the mailbox is held and not running: what import_states() continues elsewhere.
  // Ticks that wait in the mailbox are part of it and are not to be moved as jobs.
  std::vector<TimerState> export_states() const;
  // Into a KeyedTimers without timers: keys, generations, indices and remaining times stay.
  Result<void> import_states(const std::vector<TimerState>& states);

 private:
  class Timer;
  class Tick;

  Result<void> check_startable_locked(std::string_view key, std::size_t added) const;
  void arm_locked(Timer& timer, Instant at);
  void end_all(bool forever);
  void end_timer(Ref<Timer> timer);
  void on_due(Timer& timer, Instant now);
  void push_tick(Timer& timer);
  bool begin_tick(const Timer& timer) const;
  void finish_tick(Timer& timer);
  static bool plan_next(Timer& timer, Instant now);

  Clock& clock_;
  Timers& timers_;
  Mailbox& mailbox_;
  TimerOwner& owner_;
  const std::size_t bound_;

  mutable SmallMutex mutex_;
  std::map<std::string, Ref<Timer>, std::less<>> by_key_;
  std::uint64_t last_generation_ = 0;
  bool is_closed_ = false;
};

}  // namespace spotmesh::runtime

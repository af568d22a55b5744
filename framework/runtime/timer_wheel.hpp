// TimerWheel: the hierarchical wheel on which every timer of a worker or a simulated world lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <spotmesh/time.hpp>

#include "runtime/timers.hpp"

namespace spotmesh::runtime {

// Intrusive and single-threaded; arm and cancel are O(1) and allocate nothing. A slot is 2^20 ns
// wide, but nothing is rounded: an entry never expires early, and entries expire in order of
// (deadline, order of arming).
class TimerWheel {
 public:
  explicit TimerWheel(Instant start);
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;
  // Entries that are still armed are let go; they must not have been destroyed.
  ~TimerWheel();

  // Arming an armed entry moves it. A deadline that has passed expires in the next advance().
  void arm(TimerEntry& entry, Instant deadline);
  // Whether it was armed.
  bool cancel(TimerEntry& entry);
  static bool is_armed(const TimerEntry& entry) { return entry.is_armed_; }
  std::size_t size() const { return size_; }

  // The earliest moment at which advance() has something to do: never later than the earliest
  // deadline, and equal to it when that lies close; an advance() before it may only sort entries
  // into finer slots. Nothing when no entry is armed.
  std::optional<Instant> next_deadline() const;

  // Calls `expired(TimerEntry&)` for each entry whose deadline is not after `now`. The entry is
  // disarmed before the call, and any entry may be armed, cancelled or (unless armed) destroyed
  // within; one that is armed within expires in a later advance() at the earliest. A `now` before
  // the last one is harmless: nothing expires early.
  template <typename Expired>
  void advance(Instant now, Expired&& expired) {
    collect_due(now);
    while (TimerEntry* entry = pop_due()) expired(*entry);
  }

 private:
  static constexpr unsigned tick_bits = 20;
  static constexpr unsigned digit_bits = 6;
  static constexpr unsigned slots_per_level = 1U << digit_bits;
  static constexpr unsigned levels = 8;  // 48 bits of ticks; an Instant has 44
  static constexpr std::uint32_t due_slot = levels * slots_per_level;

  struct Position {
    unsigned level;
    unsigned digit;
  };

  static std::uint64_t tick_of(Instant at);
  static Instant start_of(std::uint64_t tick);
  static bool precedes(const TimerEntry& a, const TimerEntry& b);
  // A list linked by next_ alone, in order of expiry.
  static TimerEntry* sorted(TimerEntry* list);
  static TimerEntry* merged(TimerEntry* a, TimerEntry* b);

  std::optional<Position> first_occupied() const;
  std::uint64_t tick_at(Position position) const;
  void place(TimerEntry& entry);
  void unlink(TimerEntry& entry);
  TimerEntry* take_slot(Position position);
  void collect_due(Instant now);
  void make_due(TimerEntry* list, Instant now);
  TimerEntry* pop_due();

  std::uint64_t now_tick_;
  std::uint64_t next_sequence_ = 0;
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels> occupied_{};
  std::array<TimerEntry*, levels * slots_per_level> slots_{};
  TimerEntry* first_due_ = nullptr;
  TimerEntry* last_due_ = nullptr;
};

}  // namespace spotmesh::runtime

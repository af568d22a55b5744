#include "runtime/timer_wheel.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace spotmesh::runtime {

TimerWheel::TimerWheel(Instant start) : now_tick_(tick_of(start)) {}

TimerWheel::~TimerWheel() {
  while (const auto position = first_occupied()) {
    for (TimerEntry* entry = take_slot(*position); entry != nullptr;) {
      std::exchange(entry, entry->next_)->is_armed_ = false;
    }
  }
  while (pop_due() != nullptr) {
  }
}

void TimerWheel::arm(TimerEntry& entry, Instant deadline) {
  if (entry.is_armed_) unlink(entry);
  if (!std::exchange(entry.is_armed_, true)) ++size_;
  entry.deadline_ = deadline;
  entry.sequence_ = next_sequence_++;
  place(entry);
}

bool TimerWheel::cancel(TimerEntry& entry) {
  if (!std::exchange(entry.is_armed_, false)) return false;
  unlink(entry);
  --size_;
  return true;
}

std::optional<Instant> TimerWheel::next_deadline() const {
  if (first_due_ != nullptr) return first_due_->deadline_;
  const auto position = first_occupied();
  if (!position) return std::nullopt;
  if (position->level > 0) return start_of(tick_at(*position));
  Instant earliest = Instant::max();
  for (const TimerEntry* entry = slots_[position->digit]; entry != nullptr; entry = entry->next_) {
    earliest = std::min(earliest, entry->deadline_);
  }
  return earliest;
}

// Ticks order all Instants, those before the origin included.
std::uint64_t TimerWheel::tick_of(Instant at) {
  return (static_cast<std::uint64_t>(at.since_origin.count()) ^ (1ULL << 63)) >> tick_bits;
}

Instant TimerWheel::start_of(std::uint64_t tick) {
  return {Duration(static_cast<Duration::rep>((tick << tick_bits) ^ (1ULL << 63)))};
}

bool TimerWheel::precedes(const TimerEntry& a, const TimerEntry& b) {
  if (a.deadline_ != b.deadline_) return a.deadline_ < b.deadline_;
  return a.sequence_ < b.sequence_;
}

TimerEntry* TimerWheel::merged(TimerEntry* a, TimerEntry* b) {
  TimerEntry* first = nullptr;
  TimerEntry** end = &first;
  while (a != nullptr && b != nullptr) {
    TimerEntry*& earlier = precedes(*b, *a) ? b : a;
    *end = earlier;
    end = &earlier->next_;
    earlier = earlier->next_;
  }
  *end = a != nullptr ? a : b;
  return first;
}

// A bottom-up merge sort: runs[i] is empty or a sorted list of 2^i entries.
TimerEntry* TimerWheel::sorted(TimerEntry* list) {
  std::array<TimerEntry*, 64> runs{};
  while (list != nullptr) {
    TimerEntry* run = std::exchange(list, list->next_);
    run->next_ = nullptr;
    std::size_t level = 0;
    while (runs[level] != nullptr) run = merged(std::exchange(runs[level++], nullptr), run);
    runs[level] = run;
  }
  TimerEntry* all = nullptr;
  for (TimerEntry* run : runs) {
    if (run != nullptr) all = merged(run, all);
  }
  return all;
}

// All entries of a level share the digits above it with now_tick_, and those of a lower level come
// first; so the first set bit of the lowest level in use is the earliest slot.
std::optional<TimerWheel::Position> TimerWheel::first_occupied() const {
  for (unsigned level = 0; level < levels; ++level) {
    if (occupied_[level] != 0) {
      return Position{level, static_cast<unsigned>(std::countr_zero(occupied_[level]))};
    }
  }
  return std::nullopt;
}

std::uint64_t TimerWheel::tick_at(Position position) const {
  const unsigned shift = position.level * digit_bits;
  const std::uint64_t above = now_tick_ >> (shift + digit_bits) << (shift + digit_bits);
  return above | (std::uint64_t{position.digit} << shift);
}

void TimerWheel::place(TimerEntry& entry) {
  const std::uint64_t tick = std::max(tick_of(entry.deadline_), now_tick_);
  const std::uint64_t difference = (tick ^ now_tick_) | (slots_per_level - 1);
  const unsigned level = (63U - static_cast<unsigned>(std::countl_zero(difference))) / digit_bits;
  const unsigned digit = (tick >> (level * digit_bits)) & (slots_per_level - 1);
  TimerEntry*& first = slots_[level * slots_per_level + digit];
  entry.slot_ = level * slots_per_level + digit;
  entry.previous_ = nullptr;
  entry.next_ = first;
  if (first != nullptr) first->previous_ = &entry;
  first = &entry;
  occupied_[level] |= 1ULL << digit;
}

void TimerWheel::unlink(TimerEntry& entry) {
  if (entry.next_ != nullptr) entry.next_->previous_ = entry.previous_;
  if (entry.slot_ == due_slot) {
    (entry.previous_ != nullptr ? entry.previous_->next_ : first_due_) = entry.next_;
    if (entry.next_ == nullptr) last_due_ = entry.previous_;
  } else {
    TimerEntry*& first = slots_[entry.slot_];
    (entry.previous_ != nullptr ? entry.previous_->next_ : first) = entry.next_;
    if (first == nullptr) {
      occupied_[entry.slot_ / slots_per_level] &= ~(1ULL << (entry.slot_ % slots_per_level));
    }
  }
  entry.previous_ = entry.next_ = nullptr;
}

TimerEntry* TimerWheel::take_slot(Position position) {
  occupied_[position.level] &= ~(1ULL << position.digit);
  return std::exchange(slots_[position.level * slots_per_level + position.digit], nullptr);
}

void TimerWheel::collect_due(Instant now) {
  const std::uint64_t target = std::max(tick_of(now), now_tick_);
  while (const auto position = first_occupied()) {
    const std::uint64_t tick = tick_at(*position);
    if (tick > target) break;
    TimerEntry* list = take_slot(*position);
    now_tick_ = std::max(now_tick_, tick);
    if (position->level == 0) {
      make_due(list, now);
      if (tick == target) break;
      continue;
    }
    while (list != nullptr) place(*std::exchange(list, list->next_));
  }
  now_tick_ = target;
}

// Entries of the slot that holds `now` may still lie ahead; they go back into it.
void TimerWheel::make_due(TimerEntry* list, Instant now) {
  TimerEntry* due = nullptr;
  while (list != nullptr) {
    TimerEntry* entry = std::exchange(list, list->next_);
    if (entry->deadline_ <= now) {
      entry->next_ = due;
      due = entry;
    } else {
      place(*entry);
    }
  }
  for (TimerEntry* entry = sorted(due); entry != nullptr; entry = entry->next_) {
    entry->slot_ = due_slot;
    entry->previous_ = last_due_;
    (last_due_ != nullptr ? last_due_->next_ : first_due_) = entry;
    last_due_ = entry;
  }
}

TimerEntry* TimerWheel::pop_due() {
  TimerEntry* entry = first_due_;
  if (entry != nullptr) cancel(*entry);
  return entry;
}

}  // namespace spotmesh::runtime

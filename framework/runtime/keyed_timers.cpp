#include "runtime/keyed_timers.hpp"

#include <cassert>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "runtime/gate.hpp"

namespace spotmesh::runtime {

// Kept alive by the map, by its arming and by its tick. All but the constants is guarded by the
// mutex of the KeyedTimers.
class KeyedTimers::Timer final : public RefCounted, public TimerEntry {
 public:
  Timer(KeyedTimers& timers, TimerState state)
      : timers(timers),
        key(std::move(state.key)),
        generation(state.generation),
        interval(state.interval),
        overrun(state.overrun),
        next(state.next) {}

  void on_timer(Instant now) override { timers.on_due(*this, now); }

  KeyedTimers& timers;  // not to be touched once has_ended
  const std::string key;
  const std::uint64_t generation;
  const Duration interval;
  const OverrunPolicy overrun;

  TimerTick next;   // the tick that waits, runs or comes next
  Instant next_at;  // its point of the schedule
  bool has_ended = false;
};

// One tick on its way through the mailbox. It runs on the owner's turn, so the owner is alive.
class KeyedTimers::Tick final : public Job {
 public:
  Tick(Timer& timer, std::string_view name) : timer_(&timer), tick_(timer.next), name_(name) {}

  Task<void> run(Turn& turn) override {
    is_live_ = timer_->timers.begin_tick(*timer_);
    if (!is_live_) return {};
    return timer_->timers.owner_.run_tick(turn, timer_->key, tick_);
  }
  void finished(Turn& turn, std::exception_ptr failure) override {
    if (!is_live_) return;
    timer_->timers.owner_.tick_finished(turn, timer_->key, std::move(failure));
    timer_->timers.finish_tick(*timer_);
  }
  std::string_view what() const override { return name_; }
  void refuse(const Error&) override {}

 private:
  const Ref<Timer> timer_;
  const TimerTick tick_;
  const std::string_view name_;
  bool is_live_ = false;
};

KeyedTimers::KeyedTimers(Clock& clock, Timers& timers, Mailbox& mailbox, TimerOwner& owner,
                         std::size_t bound)
    : clock_(clock), timers_(timers), mailbox_(mailbox), owner_(owner), bound_(bound) {}

KeyedTimers::~KeyedTimers() { close(); }

Result<void> KeyedTimers::start(std::string_view key, const TimerSchedule& schedule) {
  if (schedule.first_after < Duration::zero() || schedule.interval < Duration::zero()) {
    return fail(Error::invalid_operation(fmt::format("timer '{}' has a negative time", key)));
  }
  if (schedule.interval > Duration::zero() && schedule.interval < shortest_interval) {
    return fail(Error::invalid_operation(
        fmt::format("timer '{}' has an interval of {} ns; the shortest is 1 ms", key,
                    schedule.interval.count())));
  }
  const Instant now = clock_.now();
  Ref<Timer> replaced;
  {
    std::lock_guard lock(mutex_);
    if (auto startable = check_startable_locked(key, by_key_.contains(key) ? 0 : 1); !startable) {
      return startable;
    }
    auto timer = make_ref<Timer>(*this, TimerState{.key = std::string(key),
                                                   .generation = ++last_generation_,
                                                   .interval = schedule.interval,
                                                   .overrun = schedule.overrun,
                                                   .next = {1, 1, 0},
                                                   .remaining = {}});
    timer->next_at = now + schedule.first_after;
    replaced = std::exchange(by_key_[timer->key], timer);
    if (replaced) replaced->has_ended = true;
    arm_locked(*timer, timer->next_at);
  }
  if (replaced) end_timer(std::move(replaced));
  return {};
}

bool KeyedTimers::cancel(std::string_view key) {
  if (fault_strikes(mailbox_.gate().faults(), "timer.cancel-ignored")) return true;
  Ref<Timer> timer;
  {
    std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return false;
    timer = std::move(found->second);
    timer->has_ended = true;
    by_key_.erase(found);
  }
  end_timer(std::move(timer));
  return true;
}

void KeyedTimers::close() {
  std::map<std::string, Ref<Timer>, std::less<>> ended;
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
    ended.swap(by_key_);
    for (auto& [key, timer] : ended) timer->has_ended = true;
  }
  for (auto& [key, timer] : ended) end_timer(std::move(timer));
}

std::size_t KeyedTimers::size() const {
  std::lock_guard lock(mutex_);
  return by_key_.size();
}

std::vector<TimerState> KeyedTimers::export_states() const {
  const Instant now = clock_.now();
  std::vector<TimerState> states;
  std::lock_guard lock(mutex_);
  for (const auto& [key, timer] : by_key_) {
    states.push_back({.key = key,
                      .generation = timer->generation,
                      .interval = timer->interval,
                      .overrun = timer->overrun,
                      .next = timer->next,
                      .remaining = timer->next_at - now});
  }
  return states;
}

Result<void> KeyedTimers::import_states(const std::vector<TimerState>& states) {
  const Instant now = clock_.now();
  std::lock_guard lock(mutex_);
  assert(by_key_.empty() && "timers are imported into a fresh owner");
  if (auto startable = check_startable_locked("of a moved owner", states.size()); !startable) {
    return startable;
  }
  for (const TimerState& state : states) {
    auto timer = make_ref<Timer>(*this, state);
    timer->next_at = now + state.remaining;
    last_generation_ = std::max(last_generation_, state.generation);
    by_key_.emplace(state.key, timer);
    arm_locked(*timer, timer->next_at);
  }
  return {};
}

Result<void> KeyedTimers::check_startable_locked(std::string_view key, std::size_t added) const {
  if (is_closed_) {
    return fail(Error::unavailable(
        fmt::format("timer '{}' cannot start: its Actor or Spot has ended", key)));
  }
  if (by_key_.size() + added > bound_) {
    return fail(Error::capacity_exceeded(fmt::format(
        "timer '{}' cannot start: {} timers of its Actor or Spot exist, the bound", key, bound_)));
  }
  return {};
}

void KeyedTimers::arm_locked(Timer& timer, Instant at) {
  timer.add_ref();  // the arming's, until on_timer() or end_timer()
  timers_.arm(timer, at);
}

// Under no lock: cancel() waits for a running on_timer(), which wants ours.
void KeyedTimers::end_timer(Ref<Timer> timer) {
  if (timers_.cancel(*timer)) timer->release_ref();
}

void KeyedTimers::on_due(Timer& timer, Instant) {
  const Ref<Timer> self(&timer);
  timer.release_ref();
  push_tick(timer);
}

void KeyedTimers::push_tick(Timer& timer) {
  std::unique_ptr<Job> tick;
  {
    std::lock_guard lock(mutex_);
    if (timer.has_ended) return;
    tick = std::make_unique<Tick>(timer, owner_.name_of_tick(timer.key));
  }
  const auto pushed = mailbox_.push(Lane::Application, std::move(tick));
  if (pushed || pushed.error().kind() != ErrorKind::CapacityExceeded) return;
  const Instant again = clock_.now() + full_lane_retry;
  std::lock_guard lock(mutex_);
  if (!timer.has_ended) arm_locked(timer, again);
}

bool KeyedTimers::begin_tick(const Timer& timer) const {
  std::lock_guard lock(mutex_);
  return !timer.has_ended;
}

void KeyedTimers::finish_tick(Timer& timer) {
  const Instant now = clock_.now();
  bool is_due = false;
  {
    std::lock_guard lock(mutex_);
    if (timer.has_ended) return;
    if (timer.interval == Duration::zero()) {
      timer.has_ended = true;
      by_key_.erase(timer.key);
      return;
    }
    is_due = plan_next(timer, now);
    if (!is_due) arm_locked(timer, timer.next_at);
  }
  if (is_due) push_tick(timer);
}

// Moves on from the tick that has just ended; true when the next one is to run at once.
bool KeyedTimers::plan_next(Timer& timer, Instant now) {
  const Instant next_at = timer.next_at + timer.interval;
  const auto late =
      next_at > now ? 0 : static_cast<std::uint64_t>((now - next_at) / timer.interval) + 1;
  std::uint64_t skipped = 0;
  bool is_due = false;
  timer.next_at = next_at;
  switch (timer.overrun.kind()) {
    case OverrunPolicy::Kind::SkipLateTicks:
      skipped = late;
      break;
    case OverrunPolicy::Kind::CatchUpBounded:
      is_due = late > 0 && timer.overrun.bound() > 0;
      skipped = late > timer.overrun.bound() ? late - timer.overrun.bound() : 0;
      break;
    case OverrunPolicy::Kind::DelayNextTick:
      if (late > 0) timer.next_at = now + timer.interval;
      break;
  }
  timer.next_at = timer.next_at + timer.interval * static_cast<Duration::rep>(skipped);
  timer.next = {.delivery_index = timer.next.delivery_index + 1,
                .scheduled_index = timer.next.scheduled_index + 1 + skipped,
                .skipped = skipped};
  return is_due;
}

}  // namespace spotmesh::runtime

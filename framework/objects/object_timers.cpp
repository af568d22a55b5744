#include "objects/object_timers.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/spot_cell.hpp"
#include "objects/timer_lane.hpp"
#include "objects/turn_scope.hpp"

namespace spotmesh::objects {
namespace {

// The turn of one tick. Several keys of a Spot may have one at once: a tick that yields leaves.
class TickScope final : public ObjectScope {
 public:
  TickScope(ActorCell* actor, SpotCell* spot)
      : ObjectScope(Kind::Handler, "a timer handler", actor, spot) {}
  registration::TimerInvocation invocation;
};

}  // namespace

ObjectTimers::ObjectTimers(Core& core, runtime::Mailbox& mailbox, const HandlerTable& handlers,
                           ActorCell* actor, SpotCell* spot)
    : core_(core), mailbox_(mailbox), handlers_(handlers), actor_(actor), spot_(spot) {
  if (spot_ == nullptr || !spot_->type().model->has_gate_per_timer) return;
  for (const registration::Timer& timer : handlers_.timers()) {
    runtime::TimerOwner& owner = *this;
    lanes_.push_back(std::make_unique<TimerLane>(core_, *spot_, owner, timer.key));
  }
}

ObjectTimers::~ObjectTimers() = default;

runtime::KeyedTimers& ObjectTimers::timers_of(std::string_view key) {
  const auto lane = std::ranges::find(lanes_, key, &TimerLane::key);
  if (lane != lanes_.end()) return (*lane)->timers();
  std::lock_guard lock(mutex_);
  if (timers_ == nullptr) {
    runtime::TimerOwner& owner = *this;
    timers_ = std::make_unique<runtime::KeyedTimers>(core_.seams.clock, core_.seams.timers,
                                                     mailbox_, owner);
    if (is_closed_) timers_->close();
  }
  return *timers_;
}

runtime::KeyedTimers* ObjectTimers::started_timers() {
  std::lock_guard lock(mutex_);
  return timers_.get();
}

void ObjectTimers::close() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  if (auto* timers = started_timers()) timers->close();
  for (const auto& lane : lanes_) lane->timers().close();
}

void ObjectTimers::abandon() {
  close();
  for (const auto& lane : lanes_) {
    lane->gate().abandon();
    lane->claims().give_up();
  }
}

void ObjectTimers::pause(std::function<void()> then) {
  for (const auto& lane : lanes_) lane->mailbox().hold();
  pause_from(0, std::move(then));
}

void ObjectTimers::pause_from(std::size_t lane, std::function<void()> then) {
  if (lane == lanes_.size()) return then();
  lanes_[lane]->claims().claim([this, lane, then = std::move(then)]() mutable {
    lanes_[lane]->claims().release();
    pause_from(lane + 1, std::move(then));
  });
}

void ObjectTimers::resume() {
  for (const auto& lane : lanes_) lane->mailbox().release_hold();
}

void ObjectTimers::look_at_lanes(const std::function<void(const runtime::Mailbox&)>& visit) const {
  for (const auto& lane : lanes_) visit(lane->mailbox());
}

void ObjectTimers::drop_claims() {
  for (const auto& lane : lanes_) lane->claims().drop();
}

std::string ObjectTimers::owner_name() const {
  return actor_ != nullptr ? actor_->name() : spot_->name();
}

void ObjectTimers::start_declared() {
  for (const registration::Timer& timer : handlers_.timers()) {
    if (!timer.period.has_value()) continue;
    auto started = timers_of(timer.key).start(
        timer.key,
        {.first_after = *timer.period, .interval = *timer.period, .overrun = timer.overrun});
    if (!started) {
      core_.log(LogLevel::Error, fmt::format("timer '{}' of {} did not start: {}", timer.key,
                                             owner_name(), to_string(started.error())));
    }
  }
}

bool ObjectTimers::is_own_turn() const {
  const runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) return false;
  if (mailbox_.runs_on(turn->gate())) return true;
  if (std::ranges::any_of(
          lanes_, [turn](const auto& lane) { return lane->mailbox().runs_on(turn->gate()); })) {
    return true;
  }
  // A callback of the Entry Spot, on a gate of its own, holds the Actor that it is given.
  const ObjectScope* scope = ObjectScope::current();
  return actor_ != nullptr && scope != nullptr && scope->kind() == ObjectScope::Kind::Lifecycle &&
         scope->actor() == actor_;
}

Result<const registration::Timer*> ObjectTimers::require(std::string_view key) const {
  if (!is_own_turn()) {
    return fail(Error::invalid_operation(fmt::format(
        "timer '{}' of {} was started outside the turns of its gate", key, owner_name())));
  }
  const registration::Timer* timer = handlers_.find_timer(key);
  if (timer == nullptr) {
    return fail(Error::not_found(fmt::format(
        "{} has no timer '{}'; declare it in handlers() with on.timer", owner_name(), key)));
  }
  return timer;
}

Result<void> ObjectTimers::start(std::string_view key, Duration period) {
  auto timer = require(key);
  if (!timer) return fail(timer.error());
  if (period < runtime::KeyedTimers::shortest_interval) {
    return fail(Error::invalid_operation(
        fmt::format("the period of timer '{}' is shorter than 1 ms", key)));
  }
  return timers_of(key).start(
      key, {.first_after = period, .interval = period, .overrun = (*timer)->overrun});
}

Result<void> ObjectTimers::start_once(std::string_view key, Duration delay) {
  auto timer = require(key);
  if (!timer) return fail(timer.error());
  return timers_of(key).start(key, {.first_after = delay, .overrun = (*timer)->overrun});
}

bool ObjectTimers::cancel(std::string_view key) {
  return is_own_turn() && timers_of(key).cancel(key);
}

Task<void> ObjectTimers::run_tick(runtime::Turn& turn, std::string_view key,
                                  const TimerTick& tick) {
  SpotCell* spot = actor_ != nullptr ? actor_->spot_in_turn() : spot_;
  auto scope = std::make_unique<TickScope>(actor_, spot);
  TickScope& running = *scope;
  turn.set_scope(std::move(scope));
  running.invocation = {.actor = actor_ != nullptr ? actor_->object() : nullptr,
                        .spot = spot_ != nullptr ? spot_->object() : nullptr,
                        .tick = tick,
                        .error = {}};
  return handlers_.find_timer(key)->invoke(running.invocation);
}

std::string_view ObjectTimers::name_of_tick(std::string_view key) const {
  return handlers_.find_timer(key)->key;
}

void ObjectTimers::tick_finished(runtime::Turn& turn, std::string_view key,
                                 std::exception_ptr failure) {
  auto& scope = static_cast<TickScope&>(*turn.scope());
  std::optional<Error> error = scope.invocation.error;
  if (failure != nullptr) {
    error = error_of(std::move(failure), fmt::format("the handler of timer '{}'", key));
    core_.metrics.callback_throws.add();
  } else if (error.has_value()) {
    core_.metrics.handler_errors.add();
  }
  scope.end(!error.has_value());
  if (!error.has_value()) return;
  core_.log(LogLevel::Error, error->message(), {{"owner", owner_name()}});
}

}  // namespace spotmesh::objects

// ObjectTimers: the declared timers of one Actor or Spot.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>
#include <spotmesh/timer_control.hpp>

#include "base/small_mutex.hpp"
#include "runtime/keyed_timers.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::objects {

class ActorCell;
class Core;
class HandlerTable;
class TimerLane;
class SpotCell;

// What TimerControl stands on.
class TimerBackend {
 public:
  virtual ~TimerBackend() = default;
  virtual Result<void> start(std::string_view key, Duration period) = 0;
  virtual Result<void> start_once(std::string_view key, Duration delay) = 0;
  virtual bool cancel(std::string_view key) = 0;
};

class ObjectTimers final : public TimerBackend, private runtime::TimerOwner {
 public:
  // Exactly one of `actor` and `spot` is the owner; it contains this. Of a PerActor Spot every key
  // has a gate and a mailbox of its own.
  ObjectTimers(Core& core, runtime::Mailbox& mailbox, const HandlerTable& handlers,
               ActorCell* actor, SpotCell* spot);
  ~ObjectTimers() override;

  // Starts the timers that were declared with a period. When the owner has become Ready.
  void start_declared();
  // Ends all timers for good.
  void close();
  // Stepped down from: no tick that has a gate of its own goes on either. Strand only.
  void abandon();
  // Of a PerActor Spot, on the strand: `then` is posted when no tick is in progress any more, and
  // none starts until resume(). The ticks of all others are turns of their owner's mailbox.
  void pause(std::function<void()> then);
  void resume();
  void drop_claims();
  // Of a PerActor Spot: `visit` is given the mailbox of each key.
  void look_at_lanes(const std::function<void(const runtime::Mailbox&)>& visit) const;

  Result<void> start(std::string_view key, Duration period) override;
  Result<void> start_once(std::string_view key, Duration delay) override;
  bool cancel(std::string_view key) override;

 private:
  Task<void> run_tick(runtime::Turn& turn, std::string_view key, const TimerTick& tick) override;
  std::string_view name_of_tick(std::string_view key) const override;
  void tick_finished(runtime::Turn& turn, std::string_view key,
                     std::exception_ptr failure) override;
  Result<const registration::Timer*> require(std::string_view key) const;
  bool is_own_turn() const;
  runtime::KeyedTimers& timers_of(std::string_view key);
  runtime::KeyedTimers* started_timers();
  void pause_from(std::size_t lane, std::function<void()> then);
  std::string owner_name() const;

  Core& core_;
  runtime::Mailbox& mailbox_;
  const HandlerTable& handlers_;
  ActorCell* actor_;
  SpotCell* spot_;
  SmallMutex mutex_;  // the next two
  bool is_closed_ = false;
  std::unique_ptr<runtime::KeyedTimers> timers_;   // null until one is started; stays then
  std::vector<std::unique_ptr<TimerLane>> lanes_;  // of a PerActor Spot, one per declared key
};

}  // namespace spotmesh::objects

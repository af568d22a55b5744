#include "objects/durable_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/retry_pause.hpp"

namespace spotmesh::objects {

using location::ArmTimer;
using location::CancelTimer;
using location::TimerFired;

DurableMachine::DurableMachine(std::string name, Instant deadline, Random& random)
    : name_(std::move(name)), deadline_(deadline), random_(random) {}

durable::Actions DurableMachine::on_event(const durable::Event& event, Instant now) {
  actions_.clear();
  if (state_ != State::Done) {
    std::visit([&](const auto& each) { on(each, now); }, event);
  }
  if (state_ != State::Done) {
    actions_.push_back(
        ArmTimer{state_ == State::Pausing ? std::min(retry_at_, deadline_) : deadline_});
  }
  return std::move(actions_);
}

void DurableMachine::on(const durable::Start&, Instant) {
  if (state_ == State::Idle) find_route();
}

void DurableMachine::on(const durable::RouteFound&, Instant) {
  if (state_ != State::Routing) return;
  state_ = State::Sending;
  actions_.push_back(durable::Send{});
}

void DurableMachine::on(const durable::NoRoute& event, Instant now) {
  if (state_ == State::Routing) pause(event.error, now);
}

void DurableMachine::on(const durable::Sent&, Instant) {
  if (state_ != State::Sending) return;
  state_ = State::Awaiting;
  is_bound_ = true;
  reason_ = "the target has not answered";
}

void DurableMachine::on(const durable::NotSent& event, Instant now) {
  if (state_ == State::Sending) pause(event.error, now);
}

void DurableMachine::on(const durable::Admitted&, Instant) {
  if (!is_bound_) return;
  is_admitted_ = true;
  failures_ = 0;
}

// Also one that was sent for an earlier attempt.
void DurableMachine::on(const durable::Answered&, Instant) {
  if (is_bound_) finish({});
}

void DurableMachine::on(const durable::Settled&, Instant) {
  if (!is_bound_) finish({});
}

void DurableMachine::on(const durable::TurnedAway& event, Instant now) {
  if (state_ != State::Awaiting) return;
  is_bound_ = false;
  is_admitted_ = false;
  pause(event.error, now);
}

void DurableMachine::on(const durable::Lost& event, Instant now) {
  if (state_ == State::Awaiting) pause(event.error, now);
}

void DurableMachine::on(const durable::RunOver& event, Instant) {
  if (is_bound_) finish(named(ErrorKind::Unavailable, event.error.message()));
}

void DurableMachine::on(const durable::Failed& event, Instant) {
  if (is_bound_) actions_.push_back(durable::Withdraw{});
  finish(named(event.error.kind(), event.error.message()));
}

void DurableMachine::on(const TimerFired&, Instant now) {
  if (now >= deadline_) {
    if (is_bound_) actions_.push_back(durable::Withdraw{});
    return finish(is_admitted_ ? named(ErrorKind::DeadlineExceeded,
                                       "the target had begun with it and has not answered in time")
                               : named(ErrorKind::Unavailable,
                                       fmt::format("no target took it on in time ({})", reason_)));
  }
  if (state_ == State::Pausing && now >= retry_at_) find_route();
}

void DurableMachine::find_route() {
  state_ = State::Routing;
  actions_.push_back(durable::FindRoute{is_bound_});
}

void DurableMachine::pause(const Error& reason, Instant now) {
  state_ = State::Pausing;
  reason_ = reason.message();
  retry_at_ = now + retry_pause(random_, ++failures_, durable::first_pause, durable::last_pause);
}

void DurableMachine::finish(std::optional<Error> error) {
  state_ = State::Done;
  actions_.push_back(CancelTimer{});
  actions_.push_back(durable::Finished{std::move(error)});
}

Error DurableMachine::named(ErrorKind kind, std::string_view text) const {
  return Error(kind, fmt::format("{}: {}", name_, text));
}

}  // namespace spotmesh::objects

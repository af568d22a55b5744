#include "objects/join_machine.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

namespace spotmesh::objects {
namespace {

JoinEnd failed(Error error) { return {.kind = JoinEnd::Kind::Failed, .error = std::move(error)}; }

}  // namespace

JoinMachine::JoinMachine(std::string what, Instant deadline)
    : what_(std::move(what)), deadline_(deadline) {}

join::Actions JoinMachine::on_event(const join::Event& event, Instant now) {
  actions_.clear();
  std::visit([&](const auto& each) { on(each, now); }, event);
  return std::exchange(actions_, {});
}

bool JoinMachine::is_before_commit() const {
  return state_ == State::Resolving || state_ == State::Admitting || state_ == State::Claiming;
}

void JoinMachine::end_uncommitted(JoinEnd end) {
  actions_.push_back(location::CancelTimer{});
  if (state_ == State::Claiming) actions_.push_back(join::WithdrawClaim{});
  if (state_ == State::Committing) actions_.push_back(join::ReleaseClaim{});
  if (state_ != State::Resolving && state_ != State::Idle) actions_.push_back(join::Unreserve{});
  deliver(std::move(end));
}

void JoinMachine::deliver(JoinEnd end) {
  state_ = State::Delivering;
  actions_.push_back(join::Deliver{std::move(end)});
}

void JoinMachine::on(const join::Start&, Instant now) {
  if (state_ != State::Idle) return;
  if (now >= deadline_) {
    return end_uncommitted(
        failed(Error::deadline_exceeded(what_ + ": its deadline passed before it could start")));
  }
  state_ = State::Resolving;
  actions_.push_back(location::ArmTimer{deadline_});
  actions_.push_back(join::Resolve{});
}

void JoinMachine::on(const location::TimerFired&, Instant now) {
  // From the commit on, what the store says decides, not the clock.
  if (!is_before_commit()) return;
  if (now < deadline_) {
    actions_.push_back(location::ArmTimer{deadline_});
    return;
  }
  end_uncommitted(failed(Error::deadline_exceeded(what_ + " did not end in time")));
}

void JoinMachine::on(const join::AlreadyThere&, Instant) {
  if (state_ == State::Resolving) end_uncommitted({.kind = JoinEnd::Kind::Accepted});
}

void JoinMachine::on(const join::Found&, Instant) {
  if (state_ != State::Resolving) return;
  state_ = State::Admitting;
  actions_.push_back(join::Reserve{});
  actions_.push_back(join::RunAdmission{});
}

void JoinMachine::on(const join::NotUsable& event, Instant) {
  if (state_ == State::Resolving) end_uncommitted(failed(event.error));
}

void JoinMachine::on(const join::Admitted& event, Instant) {
  if (state_ != State::Admitting) return;
  if (event.reply.payload().size() > limits::join_reply_bytes) {
    return end_uncommitted(failed(Error::internal_failure(
        fmt::format("{}: the reply of on_actor_join has {} bytes; {} are allowed", what_,
                    event.reply.payload().size(), limits::join_reply_bytes))));
  }
  reply_ = event.reply;
  state_ = State::Claiming;
  actions_.push_back(join::ClaimActor{});
}

void JoinMachine::on(const join::Refused& event, Instant) {
  if (state_ != State::Admitting) return;
  end_uncommitted({.kind = JoinEnd::Kind::Rejected, .reply = event.reply});
}

void JoinMachine::on(const join::AdmissionFailed& event, Instant) {
  if (state_ == State::Admitting) end_uncommitted(failed(event.error));
}

void JoinMachine::on(const join::Claimed&, Instant) {
  if (state_ != State::Claiming) return;
  state_ = State::Committing;
  actions_.push_back(join::CommitMembership{});
}

void JoinMachine::on(const join::Committed&, Instant) {
  if (state_ != State::Committing) return;
  state_ = State::Detaching;
  actions_.push_back(location::CancelTimer{});
  actions_.push_back(join::DetachFromFormer{});
}

void JoinMachine::on(const join::CommitFailed& event, Instant) {
  if (state_ == State::Committing) end_uncommitted(failed(event.error));
}

void JoinMachine::on(const join::Detached&, Instant) {
  if (state_ != State::Detaching) return;
  state_ = State::Joining;
  actions_.push_back(join::SwitchMembership{});
  actions_.push_back(join::RunJoined{});
}

void JoinMachine::on(const join::JoinedRan&, Instant) {
  if (state_ != State::Joining) return;
  state_ = State::Leaving;
  actions_.push_back(join::RunLeave{});
}

void JoinMachine::on(const join::LeaveRan&, Instant) {
  if (state_ != State::Leaving) return;
  actions_.push_back(join::ReleaseClaim{});
  actions_.push_back(join::Unreserve{});
  deliver({.kind = JoinEnd::Kind::Accepted, .reply = std::move(reply_)});
}

void JoinMachine::on(const join::Delivered&, Instant) {
  if (state_ != State::Delivering) return;
  state_ = State::Done;
  actions_.push_back(join::OpenBarrier{});
  actions_.push_back(join::Done{});
}

void JoinMachine::on(const join::Stop& event, Instant) {
  if (is_before_commit()) end_uncommitted(failed(event.error));
}

}  // namespace spotmesh::objects

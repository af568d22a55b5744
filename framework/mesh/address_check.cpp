#include "mesh/address_check.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/retry_pause.hpp"
#include "mesh/retry.hpp"

namespace spotmesh::mesh {

AddressCheck::AddressCheck(const SessionContext& context, std::string address)
    : context_(context), address_(std::move(address)) {}

check::Actions AddressCheck::on_event(check::Event event, Instant now) {
  std::visit([&](auto& each) { on(each, now); }, event);
  return std::exchange(actions_, {});
}

Instant AddressCheck::deadline() const {
  switch (state_) {
    case State::Idle:
    case State::Over:
      return Instant::max();
    case State::Dialling:
      return give_up_at_;
    case State::Listening:
      return std::min(wake_at_, give_up_at_);
    case State::Pausing:
      return is_dialled_ ? give_up_at_ : std::min(wake_at_, give_up_at_);
  }
  return Instant::max();
}

void AddressCheck::on(check::Start&, Instant now) {
  give_up_at_ = now + context_.options.address_check_time;
  dial();
}

void AddressCheck::on(check::Stop&, Instant) {
  if (state_ == State::Over) return;
  hang_up("the node stops");
  finish(Error::shutting_down(
      fmt::format("the node stops before its address '{}' has been reached", address_)));
}

void AddressCheck::dial() {
  state_ = State::Dialling;
  is_dialled_ = true;
  handshake_.emplace(context_.credentials, context_.credentials.self, DialHandshake::Session{},
                     new_nonce(context_.random));
  actions_.push_back(check::Dial{address_});
}

void AddressCheck::on(session::DialUp&, Instant now) {
  is_connected_ = true;
  if (state_ != State::Dialling) return hang_up("nobody asks for it any more");
  state_ = State::Listening;
  wake_at_ = now + context_.options.handshake_timeout;
  take(handshake_->on_connected(), now);
}

void AddressCheck::on(session::DialFailed& event, Instant now) {
  is_dialled_ = false;
  if (state_ == State::Dialling) fail_attempt(std::move(event.reason), now);
}

void AddressCheck::on(session::Frames& event, Instant now) {
  for (const SharedBytes& frame : event.frames) {
    if (state_ != State::Listening) return;
    const auto actions = handshake_->on_frame(frame.view());
    if (handshake_->is_listener_proven()) {
      hang_up("the address leads here");
      return finish(std::nullopt);
    }
    take(actions, now);
  }
}

void AddressCheck::take(const handshake::Actions& actions, Instant now) {
  for (const auto& action : actions) {
    if (const auto* say = std::get_if<handshake::Say>(&action)) {
      actions_.push_back(session::Write{check::connection, {say->frame}});
    } else if (const auto* refused = std::get_if<handshake::Refused>(&action)) {
      fail_attempt(refused->text, now);
    } else if (const auto* other = std::get_if<handshake::OtherRun>(&action)) {
      fail_attempt(fmt::format("the node '{}' (lifecycle {}) listens there", other->found.node.text,
                               to_string(other->found.lifecycle)),
                   now);
    }
  }
}

void AddressCheck::on(session::Down& event, Instant now) {
  is_dialled_ = is_connected_ = false;
  if (state_ == State::Listening) return fail_attempt(std::move(event.reason), now);
  if (state_ == State::Pausing && now >= wake_at_) dial();
}

void AddressCheck::on(session::TimerFired&, Instant now) {
  if (state_ == State::Idle || state_ == State::Over) return;
  if (now >= give_up_at_) {
    if (state_ == State::Dialling) reason_ = "no connection comes up";
    if (state_ == State::Listening) reason_ = "it does not answer";
    hang_up("the address is given up");
    return finish(Error::unavailable(
        fmt::format("this node could not be reached: its address '{}' does not lead to it: {}",
                    address_, reason_)));
  }
  if (state_ == State::Listening && now >= wake_at_) fail_attempt("it does not answer", now);
  if (state_ == State::Pausing && !is_dialled_ && now >= wake_at_) dial();
}

void AddressCheck::hang_up(std::string reason) {
  if (!std::exchange(is_connected_, false)) return;
  actions_.push_back(session::Close{check::connection, std::move(reason)});
}

void AddressCheck::fail_attempt(std::string reason, Instant now) {
  hang_up(reason);
  reason_ = std::move(reason);
  state_ = State::Pausing;
  wake_at_ = now + retry_pause(context_.random, ++failures_, context_.options.first_retry,
                               context_.options.last_retry);
}

void AddressCheck::finish(std::optional<Error> failure) {
  state_ = State::Over;
  actions_.push_back(check::Finished{std::move(failure)});
}

}  // namespace spotmesh::mesh

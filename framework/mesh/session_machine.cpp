#include "mesh/session_machine.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "base/retry_pause.hpp"
#include "mesh/retry.hpp"

namespace spotmesh::mesh {

using wire::MeshRefusalReason;

SessionMachine::SessionMachine(const SessionContext& context, Peer peer, std::uint32_t number)
    : context_(&context), peer_(std::move(peer)), number_(number) {}

session::Actions SessionMachine::on_event(session::Event event, Instant now) {
  if (state_ != State::Ended) std::visit([&](auto& each) { on(each, now); }, event);
  return std::exchange(actions_, {});
}

Instant SessionMachine::deadline() const {
  const MeshOptions& options = context_->options;
  switch (state_) {
    case State::Greeting:
      return give_up_at_;
    case State::Waiting:
      return retry_at_;
    case State::Linked: {
      const Instant beat = std::min(written_at_ + options.heartbeat_interval,
                                    heard_at_ + silence_of_a_lost_link(options));
      return owed_frames_ == 0 ? beat : std::min(beat, owed_since_ + options.acknowledgement_delay);
    }
    case State::Fresh:
    case State::Dialling:
    case State::Ended:
      break;
  }
  return Instant::max();
}

bool SessionMachine::is_drained() const {
  return std::ranges::all_of(sending_, [](const SendLane& lane) { return lane.is_empty(); });
}

void SessionMachine::on(session::Send& event, Instant now) {
  for (session::Outgoing& each : event.messages) {
    sending_[static_cast<std::size_t>(each.lane)].add(std::move(each.message));
  }
  if (state_ == State::Fresh) dial();
  if (state_ == State::Linked) pump(now);
}

void SessionMachine::dial() {
  state_ = State::Dialling;
  is_own_dial_ = true;
  ++dials_;
  connection_ = (std::uint64_t{number_} << 32) | (dials_ << 1);
  actions_.push_back(session::Dial{connection_});
}

void SessionMachine::wait(Instant now) {
  state_ = State::Waiting;
  connection_ = 0;
  handshake_.reset();
  ++failures_;
  retry_at_ = now + retry_pause(context_->random, failures_, context_->options.first_retry,
                                context_->options.last_retry);
}

void SessionMachine::on(session::DialUp& event, Instant now) {
  if (event.connection != connection_ || state_ != State::Dialling) {
    actions_.push_back(session::Close{event.connection, "another connection serves the session"});
    return;
  }
  state_ = State::Greeting;
  give_up_at_ = now + context_->options.handshake_timeout;
  handshake_.emplace(
      context_->credentials, peer_,
      DialHandshake::Session{.dial = dials_, .adopted = adopted_, .received = positions()},
      new_nonce(context_->random));
  for (auto& action : handshake_->on_connected()) {
    if (auto* say = std::get_if<handshake::Say>(&action)) write({std::move(say->frame)}, now);
  }
}

void SessionMachine::on(session::DialFailed& event, Instant now) {
  if (event.connection != connection_) return;
  actions_.push_back(session::DialLost{std::move(event.reason)});
  wait(now);
}

void SessionMachine::on(session::Down& event, Instant now) {
  if (event.connection != connection_) return;
  if (state_ == State::Linked) {
    if (now - linked_at_ >= context_->options.heartbeat_interval) failures_ = 0;
    actions_.push_back(session::Unlinked{std::move(event.reason)});
  } else {
    actions_.push_back(session::DialLost{std::move(event.reason)});
  }
  wait(now);
}

void SessionMachine::on(session::TimerFired&, Instant now) {
  if (now < deadline()) return;
  switch (state_) {
    case State::Greeting:
      actions_.push_back(session::Close{connection_, "the handshake takes too long"});
      actions_.push_back(session::DialLost{"the peer does not answer the handshake"});
      wait(now);
      return;
    case State::Waiting:
      dial();
      return;
    case State::Linked:
      if (now >= heard_at_ + silence_of_a_lost_link(context_->options)) {
        break_link("two heartbeats are missing", now);
      } else {
        write({acknowledgement()}, now);
      }
      return;
    case State::Fresh:
    case State::Dialling:
    case State::Ended:
      return;
  }
}

void SessionMachine::on(session::Finish& event, Instant now) {
  if (state_ == State::Linked) {
    write({SharedBytes(wire::encode(wire::MeshFarewell{event.reason.message()}))}, now);
  }
  if (state_ == State::Linked || state_ == State::Greeting) {
    actions_.push_back(session::Close{connection_, event.reason.message()});
  }
  end(std::move(event.reason));
}

// A dial of the peer that it has given up since: one that came before the link that stands.
bool SessionMachine::is_outdated(const wire::MeshResponse& response) const {
  if (response.dial <= adopted_) return true;
  // Who dials has no link. It had not yet taken up this side's dial when it said so.
  return state_ == State::Linked && is_own_dial_ && response.adopted < dials_;
}

void SessionMachine::on(session::Offer& event, Instant now) {
  const bool is_own_dial_preferred =
      state_ == State::Greeting && context_->credentials.self < peer_;
  if (is_own_dial_preferred || is_outdated(event.response)) {
    return refuse(event.connection, MeshRefusalReason::Simultaneous,
                  fmt::format("'{}' keeps another connection for the session with '{}'",
                              context_->credentials.self.node.text, peer_.node.text));
  }
  if (!can_resume_after(event.response.received)) {
    return refuse(event.connection, MeshRefusalReason::Positions,
                  fmt::format("'{}' says it has taken other frames than '{}' can have sent",
                              peer_.node.text, context_->credentials.self.node.text));
  }
  if (state_ == State::Linked || state_ == State::Greeting) {
    actions_.push_back(session::Close{connection_, "the peer has opened another connection"});
  }
  if (state_ == State::Linked) {
    actions_.push_back(session::Unlinked{"the peer has opened another connection"});
  }
  handshake_.reset();
  connection_ = event.connection;
  is_own_dial_ = false;
  adopted_ = event.response.dial;
  actions_.push_back(session::Trust{connection_});
  write({SharedBytes(wire::encode(wire::MeshWelcome{positions()}))}, now);
  take_up(event.response.received, now);
}

void SessionMachine::refuse(ConnectionId connection, MeshRefusalReason reason, std::string text) {
  for (auto& action : handshake::refuse(reason, std::move(text))) {
    if (auto* say = std::get_if<handshake::Say>(&action)) {
      actions_.push_back(session::Write{connection, {std::move(say->frame)}});
    } else if (auto* refused = std::get_if<handshake::Refused>(&action)) {
      actions_.push_back(session::Close{connection, refused->text});
      actions_.push_back(session::DialRefused{std::move(*refused)});
    }
  }
}

bool SessionMachine::can_resume_after(const wire::MeshPositions& received) const {
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    if (!sending_[lane].can_resume_after(received[lane])) return false;
  }
  return true;
}

void SessionMachine::take_up(const wire::MeshPositions& received, Instant now) {
  state_ = State::Linked;
  linked_at_ = heard_at_ = written_at_ = now;
  owed_frames_ = owed_bytes_ = 0;
  actions_.push_back(session::Linked{connection_});
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    if (runtime::fault_strikes(context_->faults, "mesh.ignore-positions")) {
      sending_[lane].resume_from_acknowledged();
      continue;
    }
    const LaneCredit credit = sending_[lane].resume(received[lane]);
    if (credit.messages > 0) actions_.push_back(session::Credit{Lane(lane), credit});
  }
  pump(now);
}

void SessionMachine::break_link(std::string reason, Instant now) {
  actions_.push_back(session::Close{connection_, reason});
  session::Down down{connection_, std::move(reason)};
  on(down, now);
}

void SessionMachine::end(Error reason) {
  if (state_ == State::Linked) actions_.push_back(session::Unlinked{reason.message()});
  state_ = State::Ended;
  connection_ = 0;
  handshake_.reset();
  actions_.push_back(session::Ended{std::move(reason)});
}

}  // namespace spotmesh::mesh

#include "mesh/mesh_machine.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "mesh/retry.hpp"

namespace spotmesh::mesh {

using wire::MeshRefusalReason;

machine::Actions MeshMachine::on_event(machine::Event event, Instant now) {
  std::visit([&](auto& each) { on(each, now); }, event);
  if (stop_until_ && sessions_.empty() && !std::exchange(is_stopped_, true)) {
    actions_.push_back(machine::Stopped{});
  }
  return std::exchange(actions_, {});
}

const SessionMachine* MeshMachine::session_with(const Peer& peer) const {
  const auto found = sessions_.find(peer);
  return found == sessions_.end() ? nullptr : &found->second;
}

SessionMachine& MeshMachine::session_for(const Peer& peer) {
  const auto found = sessions_.find(peer);
  if (found != sessions_.end()) return found->second;
  return sessions_.try_emplace(peer, *context_, peer, ++last_session_).first->second;
}

void MeshMachine::on(machine::Send& event, Instant now) {
  if (ended_.contains(event.to.lifecycle) || stop_until_) return;
  feed(session_for(event.to), session::Send{std::move(event.messages)}, now);
}

void MeshMachine::on(machine::Accepted& event, Instant now) {
  if (stop_until_ || strangers_.size() >= limits::mesh_strangers) {
    actions_.push_back(session::Close{event.connection, "this node takes no more connections"});
    return;
  }
  const Instant give_up_at = now + context_->options.handshake_timeout;
  strangers_.try_emplace(
      event.connection,
      Stranger{AcceptHandshake(context_->credentials, new_nonce(context_->random)), give_up_at});
  note_deadline(give_up_at);
}

void MeshMachine::on(session::DialUp& event, Instant now) {
  const auto owner = owners_.find(event.connection);
  if (owner != owners_.end() && sessions_.contains(owner->second)) {
    return feed_owner(event.connection, event, now);
  }
  if (owner != owners_.end()) owners_.erase(owner);
  actions_.push_back(session::Close{event.connection, "the session is over"});
}

void MeshMachine::on(session::DialFailed& event, Instant now) {
  feed_owner(event.connection, std::move(event), now);
}

void MeshMachine::on(session::Down& event, Instant now) {
  strangers_.erase(event.connection);
  feed_owner(event.connection, std::move(event), now);
}

template <typename Event>
void MeshMachine::feed_owner(ConnectionId connection, Event event, Instant now) {
  const auto owner = owners_.find(connection);
  if (owner == owners_.end()) return;
  const Peer peer = owner->second;
  // Neither a dial that failed nor a connection that is down is mentioned again.
  if constexpr (!std::is_same_v<Event, session::DialUp> &&
                !std::is_same_v<Event, session::Frames>) {
    owners_.erase(owner);
  }
  const auto session = sessions_.find(peer);
  if (session != sessions_.end()) feed(session->second, std::move(event), now);
}

void MeshMachine::on(session::Frames& event, Instant now) {
  const auto stranger = strangers_.find(event.connection);
  if (stranger == strangers_.end()) {
    return feed_owner(event.connection, std::move(event), now);
  }
  take(event.connection, stranger->second, std::move(event.frames), now);
}

void MeshMachine::take(ConnectionId connection, Stranger& stranger, std::vector<SharedBytes> frames,
                       Instant now) {
  for (auto frame = frames.begin(); frame != frames.end(); ++frame) {
    for (auto& action : stranger.handshake.on_frame(frame->view())) {
      if (auto* say = std::get_if<handshake::Say>(&action)) {
        actions_.push_back(session::Write{connection, {std::move(say->frame)}});
      } else if (auto* refused = std::get_if<handshake::Refused>(&action)) {
        actions_.push_back(session::Close{connection, refused->text});
        actions_.push_back(machine::Refused{std::nullopt, std::move(*refused)});
        strangers_.erase(connection);
        return;
      } else if (auto* proven = std::get_if<handshake::Proven>(&action)) {
        const handshake::Proven known = std::move(*proven);
        strangers_.erase(connection);
        introduce(connection, known, now);
        // What it says behind its proof belongs to the session.
        return feed_owner(connection, session::Frames{connection, {std::next(frame), frames.end()}},
                          now);
      }
    }
  }
}

std::optional<handshake::Refused> MeshMachine::objection(const Peer& dialler) const {
  const std::string& self = context_->credentials.self.node.text;
  const bool is_over = ended_.contains(dialler.lifecycle) &&
                       !runtime::fault_strikes(context_->faults, "mesh.take-ended-run");
  if (is_over || dialler == context_->credentials.self) {
    return handshake::Refused{
        .reason = MeshRefusalReason::RunOver,
        .text = fmt::format("for '{}' the run of '{}' with lifecycle {} is over", self,
                            dialler.node.text, to_string(dialler.lifecycle))};
  }
  if (sessions_.contains(dialler)) return std::nullopt;
  if (stop_until_) {
    return handshake::Refused{.reason = MeshRefusalReason::Stopping,
                              .text = fmt::format("'{}' is stopping", self)};
  }
  if (sessions_.size() >= limits::mesh_sessions) {
    return handshake::Refused{
        .reason = MeshRefusalReason::NoRoom,
        .text = fmt::format("'{}' has {} sessions, which is the most", self, sessions_.size())};
  }
  return std::nullopt;
}

void MeshMachine::introduce(ConnectionId connection, const handshake::Proven& proven, Instant now) {
  if (auto objection = this->objection(proven.dialler)) {
    return refuse_proven(connection, proven.dialler, *std::move(objection));
  }
  end_former_run(proven.dialler, now);
  owners_.insert_or_assign(connection, proven.dialler);
  feed(session_for(proven.dialler), session::Offer{connection, proven.response}, now);
}

void MeshMachine::refuse_proven(ConnectionId connection, const Peer& dialler,
                                handshake::Refused objection) {
  for (auto& action : handshake::refuse(objection.reason, objection.text)) {
    if (auto* say = std::get_if<handshake::Say>(&action)) {
      actions_.push_back(session::Write{connection, {std::move(say->frame)}});
    }
  }
  actions_.push_back(session::Close{connection, objection.text});
  actions_.push_back(machine::Refused{dialler, std::move(objection)});
}

// A node that comes again under its RID has no other run any more.
void MeshMachine::end_former_run(const Peer& dialler, Instant now) {
  const auto first = sessions_.lower_bound({dialler.node, LifecycleId{}});
  std::vector<Peer> former;
  for (auto each = first; each != sessions_.end() && each->first.node == dialler.node; ++each) {
    if (each->first != dialler) former.push_back(each->first);
  }
  for (const Peer& peer : former) {
    machine::EndRun over{
        peer, Error::unavailable(fmt::format("'{}' has been started again, with lifecycle {}",
                                             peer.node.text, to_string(dialler.lifecycle)))};
    on(over, now);
  }
}

void MeshMachine::on(session::TimerFired& event, Instant now) {
  std::erase_if(strangers_, [&](const auto& each) {
    if (now < each.second.give_up_at) return false;
    actions_.push_back(session::Close{each.first, "the handshake takes too long"});
    return true;
  });
  std::vector<Peer> due;
  for (const auto& [peer, session] : sessions_) {
    if (now >= session.deadline()) due.push_back(peer);
  }
  for (const Peer& peer : due) {
    const auto session = sessions_.find(peer);
    if (session != sessions_.end()) feed(session->second, event, now);
  }
  if (stop_until_ && now >= *stop_until_) {
    machine::Stop again{*stop_until_};
    on(again, now);
  }
  find_deadline();
}

void MeshMachine::find_deadline() {
  deadline_ = stop_until_ && !sessions_.empty() ? *stop_until_ : Instant::max();
  for (const auto& [connection, stranger] : strangers_) note_deadline(stranger.give_up_at);
  for (const auto& [peer, session] : sessions_) note_deadline(session.deadline());
}

void MeshMachine::on(machine::EndRun& event, Instant now) {
  if (ended_.contains(event.peer.lifecycle)) return;
  const auto session = sessions_.find(event.peer);
  if (session != sessions_.end()) {
    return feed(session->second, session::Finish{std::move(event.reason)}, now);
  }
  ended_.add(event.peer.lifecycle);
  actions_.push_back(machine::Ended{std::move(event.peer), std::move(event.reason)});
}

void MeshMachine::on(machine::Stop& event, Instant now) {
  stop_until_ = event.until;
  note_deadline(event.until);
  for (auto& [connection, stranger] : std::exchange(strangers_, {})) {
    actions_.push_back(session::Close{connection, "this node is stopping"});
  }
  std::vector<Peer> peers;
  for (const auto& [peer, session] : sessions_) peers.push_back(peer);
  for (const Peer& peer : peers) finish_if_due(sessions_.at(peer), now);
}

void MeshMachine::finish_if_due(SessionMachine& session, Instant now) {
  if (!stop_until_ || session.state() == SessionMachine::State::Ended) return;
  if (!session.is_drained() && now < *stop_until_) return;
  feed(session,
       session::Finish{Error::shutting_down(
           fmt::format("'{}' is stopping", context_->credentials.self.node.text))},
       now);
}

void MeshMachine::feed(SessionMachine& session, session::Event event, Instant now) {
  const Peer peer = session.peer();
  for (auto& action : session.on_event(std::move(event), now)) pass_on(peer, action);
  const session::Tally tally = session.take_tally();
  tally_.frames_sent += tally.frames_sent;
  tally_.frames_resent += tally.frames_resent;
  tally_.frames_taken += tally.frames_taken;
  tally_.duplicates_dropped += tally.duplicates_dropped;
  if (session.state() == SessionMachine::State::Ended) {
    sessions_.erase(peer);
    return;
  }
  note_deadline(session.deadline());
  finish_if_due(session, now);
}

void MeshMachine::pass_on(const Peer& peer, session::Action& action) {
  if (auto* write = std::get_if<session::Write>(&action)) {
    actions_.push_back(std::move(*write));
  } else if (auto* close = std::get_if<session::Close>(&action)) {
    owners_.erase(close->connection);
    actions_.push_back(std::move(*close));
  } else if (auto* dial = std::get_if<session::Dial>(&action)) {
    owners_.insert_or_assign(dial->connection, peer);
    actions_.push_back(machine::Dial{peer, dial->connection});
  } else if (auto* deliver = std::get_if<session::Deliver>(&action)) {
    actions_.push_back(machine::Deliver{peer, deliver->lane, std::move(deliver->message)});
  } else if (auto* credit = std::get_if<session::Credit>(&action)) {
    actions_.push_back(machine::Credit{peer, credit->lane, credit->credit});
  } else if (const auto* trust = std::get_if<session::Trust>(&action)) {
    actions_.push_back(*trust);
  } else if (std::holds_alternative<session::Linked>(action)) {
    actions_.push_back(machine::Linked{peer});
  } else if (auto* unlinked = std::get_if<session::Unlinked>(&action)) {
    actions_.push_back(machine::Unlinked{peer, std::move(unlinked->reason)});
  } else if (auto* refused = std::get_if<session::DialRefused>(&action)) {
    actions_.push_back(machine::Refused{peer, std::move(refused->refused)});
  } else if (auto* lost = std::get_if<session::DialLost>(&action)) {
    actions_.push_back(machine::DialLost{peer, std::move(lost->reason)});
  } else if (auto* ended = std::get_if<session::Ended>(&action)) {
    ended_.add(peer.lifecycle);
    actions_.push_back(machine::Ended{peer, std::move(ended->reason)});
  }
}

void MeshMachine::append_state(std::string& out) const {
  for (const auto& [peer, session] : sessions_) {
    fmt::format_to(std::back_inserter(out), "[{} ", to_string(peer.lifecycle));
    session.append_state(out);
    out += ']';
  }
  for (const auto& [connection, stranger] : strangers_) {
    fmt::format_to(std::back_inserter(out), "<{} {}>", connection,
                   static_cast<int>(stranger.handshake.state()));
  }
  for (const auto& [connection, peer] : owners_) {
    fmt::format_to(std::back_inserter(out), "({})", connection);
  }
  fmt::format_to(std::back_inserter(out), "+{}", ended_.size());
}

}  // namespace spotmesh::mesh

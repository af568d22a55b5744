// MeshNode::Driver: the machine's actions.
#include <utility>

#include <fmt/format.h>

#include "mesh/driver.hpp"

namespace spotmesh::mesh {

void MeshNode::Driver::act(session::Write& action) {
  if (const auto end = link_end(action.connection)) end->send(std::move(action.frames));
}

void MeshNode::Driver::act(session::Close& action) {
  if (const auto end = link_end(action.connection)) end->close(std::move(action.reason));
}

void MeshNode::Driver::act(session::Trust& action) {
  if (const auto end = link_end(action.connection)) end->trust();
}

void MeshNode::Driver::act(machine::Dial& action) {
  metrics_.dials.add();
  const auto address = seams_.addresses.address_of(action.peer);
  if (!address) {
    // Not within the actions of this event.
    strand_.post([this, id = action.connection] {
      feed(session::DialFailed{id, "the peer's address is not known"});
    });
    return;
  }
  dial(action.connection, *address);
}

void MeshNode::Driver::act(check::Dial& action) {
  metrics_.dials.add();
  dial(check::connection, action.address);
}

void MeshNode::Driver::act(check::Finished& action) {
  if (action.failure) {
    note(LogLevel::Error, "mesh.unreachable", self().node.text, action.failure->message());
    return std::exchange(check_done_, nullptr)(fail(*std::move(action.failure)));
  }
  std::exchange(check_done_, nullptr)({});
}

void MeshNode::Driver::dial(ConnectionId id, const std::string& address) {
  const auto end = runtime::make_ref<LinkEnd>(id, static_cast<LinkEnd::Owner&>(*this));
  {
    std::lock_guard lock(ends_mutex_);
    ends_.emplace(id, end);
  }
  seams_.transport.dial(address, *end);
}

void MeshNode::Driver::act(machine::Deliver& action) {
  const bool is_taken = outbound_->note_taken(action.from) ||
                        runtime::fault_strikes(seams_.faults, "mesh.take-ended-run");
  if (!is_taken) return;
  metrics_.messages_taken.add();
  seams_.handler.on_message(action.from, action.lane, std::move(action.message));
}

void MeshNode::Driver::act(machine::Credit& action) {
  outbound_->credit(action.peer, action.lane, action.credit);
}

void MeshNode::Driver::act(machine::Linked& action) {
  metrics_.links.add();
  outbound_->note_session(action.peer);
  outbound_->note_refusal(action.peer, {});
  note(LogLevel::Info, "mesh.linked", action.peer.node.text, "connected");
}

void MeshNode::Driver::act(machine::Unlinked& action) {
  metrics_.links.add(-1);
  metrics_.cuts.add();
  note(LogLevel::Info, "mesh.cut", action.peer.node.text, std::move(action.reason));
}

void MeshNode::Driver::act(machine::Refused& action) {
  const auto& [is_by_peer, reason, text] = action.refused;
  const bool is_ordinary = reason == wire::MeshRefusalReason::Simultaneous;
  metrics_.refused_handshakes.add(is_ordinary ? 0 : 1);
  if (action.peer && !is_ordinary) outbound_->note_refusal(*action.peer, text);
  note(is_ordinary ? LogLevel::Debug : LogLevel::Warning, "mesh.refused",
       action.peer ? action.peer->node.text : std::string("a stranger"),
       fmt::format("{} ({}): {}", is_by_peer ? "refused by the peer" : "refused by this node",
                   wire::to_string(reason), text));
}

void MeshNode::Driver::act(machine::DialLost& action) {
  note(LogLevel::Info, "mesh.unreachable", action.peer.node.text, std::move(action.reason));
}

void MeshNode::Driver::act(machine::Ended& action) {
  note(LogLevel::Info, "mesh.ended", action.peer.node.text, action.reason.message());
  tell_ended(action.peer, action.reason);
}

void MeshNode::Driver::act(machine::Stopped&) {
  is_stopped_ = true;
  for (const Peer& peer : outbound_->peers()) {
    tell_ended(peer, Error::shutting_down(fmt::format("'{}' is stopping", self().node.text)));
  }
  strand_.post([this] { finish_stop_if_due(); });
}

void MeshNode::Driver::tell_ended(const Peer& peer, const Error& reason) {
  if (outbound_->close(peer)) seams_.handler.on_ended(peer, reason);
}

void MeshNode::Driver::note(LogLevel level, std::string_view event, const std::string& peer,
                            std::string text) {
  if (seams_.log.is_enabled(level)) {
    seams_.log.write(level, "mesh", text, {{"node", self().node.text}, {"peer", peer}});
  }
  seams_.events.emit({.kind = event,
                      .subject = self().node.text,
                      .fields = {{"peer", peer}, {"what", std::move(text)}}});
}

}  // namespace spotmesh::mesh

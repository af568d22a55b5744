#include "objects/route_order.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/core.hpp"
#include "objects/peer_port.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

RouteOrder::RouteOrder(Core& core) : core_(core) {
  // Messages are in their mailboxes by the time that a fence behind them is seen.
  core.peers->handle(PeerKind::Fence, [&core](const PeerMessage& message) -> Result<void> {
    core.peers->answer(message, mesh::Lane::Control, PeerKind::FenceAnswer, nullptr);
    return {};
  });
  core.peers->on_peer_ended([this](const mesh::Peer& peer, const Error&) {
    std::lock_guard lock(mutex_);
    sent_.end(peer);
    asked_.erase(peer);
  });
}

void RouteOrder::sent(TargetKind kind, std::string_view id, const mesh::Peer& peer) {
  std::uint64_t position = 0;
  {
    std::lock_guard lock(mutex_);
    position = sent_.note(kind, id, peer);
    std::uint64_t& asked = asked_[peer];
    const bool is_crowded = sent_.unconfirmed(peer) >= limits::peer_unconfirmed_messages &&
                            position - asked >= limits::peer_unconfirmed_messages;
    if (!is_crowded) return;
    asked = position;
  }
  ask(peer, position);
}

void RouteOrder::ask(const mesh::Peer& peer, std::uint64_t position) {
  // Unsent for want of room: the next one will be.
  (void)core_.peers->call(peer, mesh::Lane::Messages, PeerKind::Fence, nullptr,
                          core_.now() + limits::default_operation_timeout,
                          [this, peer, position](const Result<PeerMessage>& answer) {
                            if (answer) confirm(peer, position);
                          });
}

std::uint64_t RouteOrder::position(const mesh::Peer& peer) const {
  std::lock_guard lock(mutex_);
  return sent_.position(peer);
}

void RouteOrder::confirm(const mesh::Peer& peer, std::uint64_t position) {
  std::lock_guard lock(mutex_);
  sent_.confirm(peer, position);
}

std::optional<mesh::Peer> RouteOrder::former_route(TargetKind kind, std::string_view id) const {
  std::lock_guard lock(mutex_);
  return sent_.find(kind, id);
}

void RouteOrder::fence(const mesh::Peer& peer, std::function<void(Result<void>)> taken) {
  const std::string& name = peer.node.text;
  const auto waiting = std::make_shared<std::function<void(Result<void>)>>(std::move(taken));
  const auto finish = [waiting](Result<void> outcome) {
    if (auto told = std::exchange(*waiting, nullptr)) told(std::move(outcome));
  };
  const auto number = std::make_shared<std::uint64_t>(0);
  const auto timer = std::make_shared<StrandTimer>(core_, [this, finish, number, name] {
    core_.peers->forget(*number);
    finish(fail(Error::unavailable(
        fmt::format("node {} has not said in time that it has taken what was sent before", name))));
  });
  timer->arm(core_.now() + limits::default_operation_timeout);
  const std::uint64_t before = position(peer);
  const auto call = core_.peers->call(
      peer, mesh::Lane::Messages, PeerKind::Fence, nullptr, Instant::max(),
      on_strand(core_, [this, peer, timer, finish, before](const Result<PeerMessage>& answer) {
        timer->cancel();
        if (answer) confirm(peer, before);
        const bool is_over = position(peer) == 0;
        finish(answer || is_over ? Result<void>{} : fail(answer.error()));
      }));
  if (call) {
    *number = *call;
    return;
  }
  timer->cancel();
  finish(fail(call.error()));
}

}  // namespace spotmesh::objects

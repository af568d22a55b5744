#include "objects/route_order.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/pool.hpp"
#include "objects/core.hpp"
#include "objects/peer_port.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

// What one turn has said and what has not left yet. Listed behind the batch that it leaves with, so
// it is noted when that is in the lane.
class RouteOrder::Unsaid final : public runtime::Flushable {
 public:
  struct Message {
    TargetKind kind;
    std::string id;
    mesh::Peer peer;
  };
  explicit Unsaid(RouteOrder& order) : order_(order) {}
  void flush() override { order_.leave(*this); }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

  std::vector<Message> messages;

 private:
  RouteOrder& order_;
};

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

RouteOrder::~RouteOrder() = default;

void RouteOrder::sent(TargetKind kind, std::string_view id, const mesh::Peer& peer) {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) return note(kind, id, peer);
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(unsaid_, [&](const auto& each) {
    return each.first == turn && each.second->is_listed_by(*turn);
  });
  if (found != unsaid_.end())
    return found->second->messages.push_back({kind, std::string(id), peer});
  auto unsaid = runtime::make_ref<Unsaid>(*this);
  unsaid->messages.push_back({kind, std::string(id), peer});
  turn->flush_at_end(*unsaid);
  unsaid_.emplace_back(turn, std::move(unsaid));
  unsaid_turns_.store(unsaid_.size(), std::memory_order_release);
}

bool RouteOrder::has_unsaid() const {
  if (unsaid_turns_.load(std::memory_order_acquire) == 0) return false;
  std::lock_guard lock(mutex_);
  return unsaid_of_this_turn() != nullptr;
}

const RouteOrder::Unsaid* RouteOrder::unsaid_of_this_turn() const {
  const runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) return nullptr;
  const auto found = std::ranges::find_if(unsaid_, [&](const auto& each) {
    return each.first == turn && each.second->is_listed_by(*turn);
  });
  return found == unsaid_.end() ? nullptr : found->second.get();
}

void RouteOrder::leave(Unsaid& unsaid) {
  runtime::Ref<Unsaid> left;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        unsaid_, [&](const auto& each) { return each.second.get() == &unsaid; });
    if (found == unsaid_.end()) return;
    left = std::move(found->second);
    unsaid_.erase(found);
    unsaid_turns_.store(unsaid_.size(), std::memory_order_release);
  }
  for (const Unsaid::Message& each : left->messages) note(each.kind, each.id, each.peer);
}

void RouteOrder::note(TargetKind kind, std::string_view id, const mesh::Peer& peer) {
  std::uint64_t position = 0;
  {
    std::lock_guard lock(mutex_);
    position = sent_.note(kind, id, peer);
    if (core_.peers->is_over(peer)) {
      // It ended meanwhile, and nobody says so again.
      sent_.end(peer);
      asked_.erase(peer);
      return;
    }
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

// A run is over some time before its end is told here: a fence to it would be answered at once, and
// nothing would have changed.
std::optional<mesh::Peer> RouteOrder::unless_over(std::optional<mesh::Peer> peer) const {
  if (peer.has_value() && core_.peers->is_over(*peer)) peer.reset();
  return peer;
}

std::optional<mesh::Peer> RouteOrder::former_route(TargetKind kind, std::string_view id) const {
  std::lock_guard lock(mutex_);
  if (const Unsaid* unsaid = unsaid_of_this_turn()) {
    const auto last = std::ranges::find_if(
        unsaid->messages.rbegin(), unsaid->messages.rend(),
        [&](const Unsaid::Message& each) { return each.kind == kind && each.id == id; });
    if (last != unsaid->messages.rend()) return unless_over(last->peer);
  }
  return unless_over(sent_.find(kind, id));
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
        const bool is_taken = answer || core_.peers->is_over(peer);
        finish(is_taken ? Result<void>{} : fail(answer.error()));
      }));
  if (call) {
    *number = *call;
    return;
  }
  timer->cancel();
  finish(core_.peers->is_over(peer) ? Result<void>{} : fail(call.error()));
}

}  // namespace spotmesh::objects

#include "mesh/outbound.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/pool.hpp"

namespace spotmesh::mesh {
namespace {

std::string_view name_of(Lane lane) {
  switch (lane) {
    case Lane::Control:
      return "control";
    case Lane::Messages:
      return "messages";
    case Lane::Bulk:
      return "bulk";
  }
  return "unknown";
}

}  // namespace

// What one turn says to peers.
class Outbound::Batch final : public runtime::Flushable {
 public:
  explicit Batch(Outbound& outbound) : outbound_(&outbound) {}
  void flush() override { outbound_->flush(*this); }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

  std::vector<std::pair<Peer, session::Outgoing>> messages;

 private:
  runtime::Ref<Outbound> outbound_;
};

Outbound::Outbound(Peer self, const MeshOptions& options, const AddressBook& addresses,
                   Owner& owner)
    : self_(std::move(self)), bounds_(options.lanes), addresses_(addresses), owner_(&owner) {}

Outbound::~Outbound() = default;

Result<void> Outbound::send(const Peer& to, Lane lane, SharedBytes message) {
  if (auto valid = check(to, lane, message.size()); !valid) return valid;
  if (!is_known(to) && !addresses_.address_of(to)) {
    return fail(Error::unavailable(fmt::format("no address is known of '{}' with lifecycle {}",
                                               to.node.text, to_string(to.lifecycle))));
  }
  runtime::Turn* turn = runtime::Turn::current();
  Owner* owner = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto account = account_locked(to);
    if (!account) return fail(account.error());
    LaneUse& use = (*account)->lanes[static_cast<std::size_t>(lane)];
    const LaneBound& bound = bounds_[static_cast<std::size_t>(lane)];
    const bool is_full = use.messages > 0 && (use.messages >= bound.messages ||
                                              use.bytes + message.size() > bound.bytes);
    if (is_full) return fail(full_error(to, lane, **account));
    ++use.messages;
    use.bytes += message.size();
    (*account)->has_carried = true;
    session::Outgoing outgoing{lane, std::move(message)};
    if (turn != nullptr) {
      Batch& batch = batch_of_locked(*turn);
      batch.messages.emplace_back(to, std::move(outgoing));
      turn->flush_at_end(batch);
      return {};
    }
    if (add_ready_locked(to, std::move(outgoing))) owner = owner_;
  }
  if (owner != nullptr) owner->on_ready();
  return {};
}

Result<void> Outbound::check(const Peer& to, Lane lane, std::size_t size) const {
  if (size > limits::mesh_message_bytes) {
    return fail(Error::invalid_operation(
        fmt::format("a message of {} bytes to '{}' in lane {}: {} is the most", size, to.node.text,
                    name_of(lane), limits::mesh_message_bytes)));
  }
  if (to == self_) {
    return fail(Error::invalid_operation(
        fmt::format("'{}' does not send to itself over the mesh", to.node.text)));
  }
  return {};
}

bool Outbound::is_known(const Peer& peer) const {
  std::lock_guard lock(mutex_);
  // Of one whose run is over no address is wanted.
  return accounts_.contains(peer) || ended_.contains(peer.lifecycle);
}

Result<Outbound::Account*> Outbound::account_locked(const Peer& to) {
  if (is_stopping_ || owner_ == nullptr) {
    return fail(Error::unavailable(fmt::format("a message to '{}': this node, '{}', is stopping",
                                               to.node.text, self_.node.text)));
  }
  if (ended_.contains(to.lifecycle)) {
    return fail(Error::unavailable(fmt::format("the run of '{}' with lifecycle {} is over",
                                               to.node.text, to_string(to.lifecycle))));
  }
  const auto found = accounts_.find(to);
  if (found != accounts_.end()) return &found->second;
  if (accounts_.size() < limits::mesh_sessions) return &accounts_[to];
  return fail(
      Error::unavailable(fmt::format("a message to '{}': this node has {} peers, which is "
                                     "the most",
                                     to.node.text, accounts_.size())));
}

Error Outbound::full_error(const Peer& to, Lane lane, const Account& account) const {
  const LaneUse& use = account.lanes[static_cast<std::size_t>(lane)];
  return Error::unavailable(
      fmt::format("the lane {} to '{}' is full: {} messages of {} bytes are not acknowledged{}{}",
                  name_of(lane), to.node.text, use.messages, use.bytes,
                  account.refusal.empty() ? "" : "; the handshake is refused: ", account.refusal));
}

Outbound::Batch& Outbound::batch_of_locked(const runtime::Turn& turn) {
  const auto found = std::ranges::find_if(batches_, [&](const auto& each) {
    return each.first == &turn && each.second->is_listed_by(turn);
  });
  if (found != batches_.end()) return *found->second;
  batches_.emplace_back(&turn, runtime::make_ref<Batch>(*this));
  return *batches_.back().second;
}

bool Outbound::add_ready_locked(const Peer& to, session::Outgoing message) {
  const bool was_empty = ready_.empty();
  ready_[to].push_back(std::move(message));
  return was_empty;
}

void Outbound::flush(Batch& batch) {
  runtime::Ref<Batch> flushed;
  Owner* owner = nullptr;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        batches_, [&](const auto& each) { return each.second.get() == &batch; });
    if (found == batches_.end()) return;
    flushed = std::move(found->second);
    batches_.erase(found);
    for (auto& [to, message] : flushed->messages) {
      if (!accounts_.contains(to)) continue;
      if (add_ready_locked(to, std::move(message))) owner = owner_;
    }
  }
  if (owner != nullptr) owner->on_ready();
}

Outbound::Ready Outbound::take_ready() {
  std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void Outbound::note_session(const Peer& peer) {
  std::lock_guard lock(mutex_);
  if (!ended_.contains(peer.lifecycle)) accounts_[peer];
}

void Outbound::credit(const Peer& peer, Lane lane, const LaneCredit& credit) {
  std::lock_guard lock(mutex_);
  const auto found = accounts_.find(peer);
  if (found == accounts_.end()) return;
  LaneUse& use = found->second.lanes[static_cast<std::size_t>(lane)];
  use.messages -= credit.messages;
  use.bytes -= credit.bytes;
}

void Outbound::note_refusal(const Peer& peer, std::string reason) {
  std::lock_guard lock(mutex_);
  const auto found = accounts_.find(peer);
  if (found != accounts_.end()) found->second.refusal = std::move(reason);
}

bool Outbound::end(const Peer& peer) {
  std::lock_guard lock(mutex_);
  return ended_.add(peer.lifecycle);
}

bool Outbound::is_over(const Peer& peer) const {
  std::lock_guard lock(mutex_);
  return ended_.contains(peer.lifecycle);
}

bool Outbound::note_taken(const Peer& peer) {
  std::lock_guard lock(mutex_);
  if (ended_.contains(peer.lifecycle)) return false;
  accounts_[peer].has_carried = true;
  return true;
}

bool Outbound::close(const Peer& peer) {
  std::vector<session::Outgoing> dropped;
  std::lock_guard lock(mutex_);
  ended_.add(peer.lifecycle);
  if (const auto ready = ready_.extract(peer)) dropped = std::move(ready.mapped());
  const auto account = accounts_.extract(peer);
  return account && account.mapped().has_carried;
}

void Outbound::stop() {
  std::lock_guard lock(mutex_);
  is_stopping_ = true;
}

std::vector<Peer> Outbound::peers() const {
  std::lock_guard lock(mutex_);
  std::vector<Peer> peers;
  for (const auto& [peer, account] : accounts_) peers.push_back(peer);
  return peers;
}

void Outbound::detach() {
  Batches dropped;
  Ready unsent;
  std::lock_guard lock(mutex_);
  owner_ = nullptr;
  dropped.swap(batches_);
  unsent.swap(ready_);
}

}  // namespace spotmesh::mesh

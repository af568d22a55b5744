#include "objects/remote_sessions.hpp"

#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "objects/binding_table.hpp"
#include "objects/core.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"
#include "objects/registry.hpp"
#include "objects/router.hpp"

namespace spotmesh::objects {
namespace {

// How often it is tried whether there is room by now, in a mailbox or in a lane.
constexpr Duration retry_interval = std::chrono::milliseconds(10);

Error stale_error(const std::string& actor) {
  return Error::invalid_operation(actor + " is no longer bound to this session");
}

}  // namespace

RemoteSessions::RemoteSessions(Core& core) : core_(core), timer_(core, [this] { look_again(); }) {
  const auto packet = [this](const PeerMessage& message) { return receive_packet(message); };
  core.peers->handle(PeerKind::SessionSend, packet);
  core.peers->handle(PeerKind::SessionRequest, packet);
  core.peers->handle(PeerKind::Bind,
                     [this](const PeerMessage& message) { return receive_bind(message); });
  core.peers->handle(PeerKind::Unbind,
                     [this](const PeerMessage& message) { return receive_unbind(message); });
  core.peers->on_peer_ended([this](const mesh::Peer& peer, const Error&) {
    core_.strand.post([this, peer] { session_node_ended(peer); });
  });
}

bool RemoteSessions::is_here(const BindingIdentity& binding) const {
  return binding.session_owner == core_.identity.lifecycle;
}

RemoteSessions::Entry* RemoteSessions::find_locked(const BindingIdentity& binding) {
  const auto found = entries_.find(key_of(binding));
  if (found == entries_.end() || found->second.binding != binding) return nullptr;
  return &found->second;
}

std::optional<RemoteSessions::Entry> RemoteSessions::extract(const Key& key) {
  std::lock_guard lock(mutex_);
  stuck_.erase(key);
  auto node = entries_.extract(key);
  if (!node) return {};
  return std::move(node.mapped());
}

Result<void> RemoteSessions::push(const BindingIdentity& binding, const Message& message) {
  if (!is_here(binding)) {
    std::unique_lock lock(mutex_);
    if (find_locked(binding) != nullptr) {
      lock.unlock();
      const auto body = session_push(binding, message);
      return core_.peers->send(node_of(binding), mesh::Lane::Messages,
                               peer_bytes(PeerKind::SessionPush, 0, &body));
    }
  }
  if (core_.sessions != nullptr) return core_.sessions->push(binding, message);
  return fail(Error::unavailable("the client's session has ended"));
}

void RemoteSessions::disconnect(const BindingIdentity& binding, std::string reason) {
  if (!is_here(binding)) {
    std::lock_guard lock(mutex_);
    if (Entry* entry = find_locked(binding)) {
      if (say(binding, BindingEvent::Disconnect, reason)) return;
      entry->disconnect = std::move(reason);
      return stick_locked(key_of(binding));
    }
  }
  if (core_.sessions != nullptr) core_.sessions->disconnect(binding, std::move(reason));
}

void RemoteSessions::on_replaced(const BindingIdentity& old_binding, const ActorRef& actor) {
  if (end_of_actor(old_binding, BindingEvent::Replaced)) return;
  if (core_.sessions != nullptr) core_.sessions->on_replaced(old_binding, actor);
}

void RemoteSessions::on_actor_gone(const BindingIdentity& binding, const ActorId& actor) {
  if (end_of_actor(binding, BindingEvent::Gone)) return;
  if (core_.sessions != nullptr) core_.sessions->on_actor_gone(binding, actor);
}

void RemoteSessions::superseded(const BindingIdentity& former) {
  end_of_actor(former, BindingEvent::Gone);
}

bool RemoteSessions::end_of_actor(const BindingIdentity& binding, BindingEvent event) {
  if (is_here(binding)) return false;
  Refused refused;
  {
    std::lock_guard lock(mutex_);
    Entry* entry = find_locked(binding);
    if (entry == nullptr) return false;
    for (Envelope& envelope : entry->waiting) {
      Error error = stale_error(entry->actor->name());
      refused.emplace_back(std::move(envelope), std::move(error));
    }
    entry->waiting.clear();
    entry->end = event;
    const Key key = key_of(binding);
    // Else the entry stays until its end is told, or heard.
    if (entry->disconnect.has_value() || !say(binding, event, {})) {
      stick_locked(key);
    } else if (!entry->is_ending) {
      stuck_.erase(key);
      entries_.erase(key);
    }
  }
  refuse(refused);
  return true;
}

bool RemoteSessions::say(const BindingIdentity& binding, BindingEvent event,
                         std::string_view reason) {
  const mesh::Peer node = node_of(binding);
  const auto body = binding_news(binding, event, reason);
  const auto sent =
      core_.peers->send(node, mesh::Lane::Messages, peer_bytes(PeerKind::BindingNews, 0, &body));
  return sent || core_.peers->is_over(node) || core_.is_stopped();
}

Result<void> RemoteSessions::receive_bind(const PeerMessage& message) {
  const auto asked = read_bind(message);
  if (!asked) return fail(asked.error());
  if (message.call == 0) return fail(unsound(message, "it is no call"));
  const Instant deadline = core_.peers->deadline_of(message, asked->remaining, asked->sent_at);
  {
    std::lock_guard lock(mutex_);
    const bool is_full = entries_.size() >= most_bindings;
    const bool is_new =
        !is_full &&
        entries_.try_emplace(key_of(asked->binding), Entry{.binding = asked->binding}).second;
    if (!is_full && !is_new) return fail(unsound(message, "its binding is there already"));
    if (is_full) {
      core_.peers->refuse(message, mesh::Lane::Control,
                          Error::unavailable(fmt::format(
                              "node {} has {} bindings to sessions of other nodes, which is "
                              "the most",
                              core_.identity.rid.text, most_bindings)));
      return {};
    }
  }
  core_.strand.post([this, call = message.without_bytes(), asked = *asked, deadline] {
    do_bind(call, asked, deadline);
  });
  return {};
}

void RemoteSessions::do_bind(const PeerMessage& call, const AskedBind& asked, Instant deadline) {
  // In Control, which has no other answer in its place: whoever hears of a failure knows that
  // nothing was bound.
  const auto bound = begin_bind(asked, deadline);
  if (bound) return core_.peers->answer(call, mesh::Lane::Control, PeerKind::Bound, nullptr);
  extract(key_of(asked.binding));
  core_.peers->refuse(call, mesh::Lane::Control, as_seen_elsewhere(bound.error()));
}

Result<void> RemoteSessions::begin_bind(const AskedBind& asked, Instant deadline) {
  const std::string& id = asked.actor.text();
  if (core_.now() >= deadline) {
    return fail(Error::deadline_exceeded(
        fmt::format("Actor '{}' was asked to be bound too late, and is not", id)));
  }
  {
    // Before the Actor has the binding, and so may push along it.
    std::lock_guard lock(mutex_);
    Entry* entry = find_locked(asked.binding);
    if (entry == nullptr || entry->is_ending) {
      return fail(Error::unavailable("the session has ended before it was bound"));
    }
    entry->actor = core_.registry->find_actor(id);
  }
  return core_.bindings->bind_here(
      ActorRef{asked.actor, asked.generation, std::string(), core_.identity.rid}, asked.binding);
}

// Also of a Bind whose turn has not come yet: it is not done then.
Result<void> RemoteSessions::receive_unbind(const PeerMessage& message) {
  const auto asked = read_unbind(message);
  if (!asked) return fail(asked.error());
  bool is_present = false;
  {
    std::lock_guard lock(mutex_);
    if (Entry* entry = find_locked(asked->binding)) {
      is_present = !std::exchange(entry->is_ending, true);
    }
  }
  if (!is_present) {
    core_.metrics.stale_refused.add();
    core_.peers->answer(message, mesh::Lane::Control, PeerKind::Bound, nullptr);
    return {};
  }
  core_.strand.post([this, call = message.without_bytes(), key = key_of(asked->binding),
                     has_disconnected = asked->has_disconnected] {
    end(key, has_disconnected);
    core_.peers->answer(call, mesh::Lane::Control, PeerKind::Bound, nullptr);
  });
  return {};
}

void RemoteSessions::end(const Key& key, bool has_disconnected) {
  Refused refused;
  runtime::Ref<ActorCell> actor;
  std::optional<BindingIdentity> binding;
  {
    std::lock_guard lock(mutex_);
    stuck_.erase(key);
    auto node = entries_.extract(key);
    if (!node) return;
    Entry& entry = node.mapped();
    binding = entry.binding;
    actor = entry.actor;
    // What the client has said before finds its place, as far as there is one.
    take_waiting_locked(entry, refused);
    for (Envelope& envelope : entry.waiting) {
      refused.emplace_back(std::move(envelope), Error::unavailable("the session has ended"));
    }
  }
  refuse(refused);
  if (actor) core_.bindings->end_here(actor, *binding, has_disconnected);
}

void RemoteSessions::session_node_ended(const mesh::Peer& node) {
  std::vector<Key> ended;
  {
    std::lock_guard lock(mutex_);
    const auto first = entries_.lower_bound({node.lifecycle, 0});
    for (auto each = first; each != entries_.end() && each->first.first == node.lifecycle; ++each) {
      ended.push_back(each->first);
    }
  }
  for (const Key& key : ended) end(key, true);
}

Result<void> RemoteSessions::receive_packet(const PeerMessage& message) {
  auto packet = read_session_packet(message, core_.application);
  if (!packet) return fail(packet.error());
  const bool is_request = message.kind == PeerKind::SessionRequest;
  if (is_request != (message.call != 0)) return fail(unsound(message, "its call is unsound"));
  Envelope envelope{.kind = TargetKind::Actor};
  if (packet->message) envelope.message = *std::move(packet->message);
  if (is_request) {
    envelope.deadline = core_.peers->deadline_of(message, packet->remaining, packet->sent_at);
    envelope.reply = ReplySink(std::make_shared<PeerReplyFunction>(
        [this, call = message.without_bytes()](const Result<Message>& outcome) {
          core_.peers->reply(call, outcome);
        },
        std::nullopt));
  }
  Refused refused;
  if (auto taken = take(message, *packet, envelope); !taken) {
    // Its sender is told by whoever called this.
    if (taken.error().kind() == ErrorKind::ProtocolError) {
      envelope.reply.disarm();
      return taken;
    }
    // One of a stale binding is counted, and needs no words.
    const bool is_silent = !is_request && taken.error().kind() == ErrorKind::InvalidOperation;
    if (!is_silent) refused.emplace_back(std::move(envelope), std::move(taken.error()));
  }
  refuse(refused);
  return {};
}

Result<void> RemoteSessions::take(const PeerMessage& message, const ReadSessionPacket& packet,
                                  Envelope& envelope) {
  std::lock_guard lock(mutex_);
  Entry* entry = find_locked(packet.binding);
  const bool is_present = entry != nullptr && entry->actor && !entry->end.has_value() &&
                          !entry->is_ending && entry->actor->is_bound_to(packet.binding);
  if (!is_present) {
    core_.metrics.stale_refused.add();
    return fail(stale_error("the Actor"));
  }
  if (packet.sequence != entry->received + 1 || entry->waiting.size() >= remote_session_packets) {
    return fail(unsound(message, fmt::format("packet {} of its binding cannot follow packet {}",
                                             packet.sequence, entry->received)));
  }
  entry->received = packet.sequence;
  envelope.id = entry->actor->id().text();
  const Key key = key_of(packet.binding);
  Result<void> taken;
  if (!packet.message) {
    core_.metrics.no_handler.add();
    taken = fail(packet.message.error());
  } else if (entry->waiting.empty()) {
    taken = core_.router->deliver(*entry->actor, envelope);
  }
  const bool is_full = !taken && taken.error().kind() == ErrorKind::CapacityExceeded;
  if (is_full) taken = {};
  if (packet.message && (is_full || !entry->waiting.empty())) {
    entry->waiting.push_back(std::move(envelope));
    stick_locked(key);
  }
  tell_taken_locked(key, *entry);
  return taken;
}

void RemoteSessions::take_waiting_locked(Entry& entry, Refused& refused) {
  while (!entry.waiting.empty()) {
    Envelope& envelope = entry.waiting.front();
    const bool is_present = entry.actor->is_bound_to(entry.binding);
    auto taken = is_present ? core_.router->deliver(*entry.actor, envelope)
                            : Result<void>(fail(stale_error(entry.actor->name())));
    if (!taken && taken.error().kind() == ErrorKind::CapacityExceeded) return;
    if (!taken) refused.emplace_back(std::move(envelope), std::move(taken.error()));
    entry.waiting.pop_front();
  }
}

// Not every one by itself: half of what may be on its way at a time is told together.
void RemoteSessions::tell_taken_locked(const Key& key, Entry& entry) {
  const std::uint64_t taken = entry.received - entry.waiting.size();
  if (taken - entry.told < remote_session_packets / 2) return;
  const auto body = session_taken(entry.binding, taken);
  const auto sent = core_.peers->send(node_of(entry.binding), mesh::Lane::Control,
                                      peer_bytes(PeerKind::SessionTaken, 0, &body));
  if (sent) {
    entry.told = taken;
  } else {
    stick_locked(key);
  }
}

void RemoteSessions::stick_locked(const Key& key) {
  if (!stuck_.insert(key).second || stuck_.size() > 1) return;
  core_.strand.post([this] { timer_.arm(core_.now() + retry_interval); });
}

void RemoteSessions::look_again() {
  Refused refused;
  {
    std::lock_guard lock(mutex_);
    for (auto next = stuck_.begin(); next != stuck_.end();) {
      const Key key = *next;
      const auto found = entries_.find(key);
      const bool is_done = found == entries_.end() || try_again_locked(key, found->second, refused);
      if (is_done && found != entries_.end() && found->second.end.has_value() &&
          !found->second.is_ending) {
        entries_.erase(found);
      }
      next = is_done ? stuck_.erase(next) : std::next(next);
    }
    if (!stuck_.empty()) timer_.arm(core_.now() + retry_interval);
  }
  refuse(refused);
}

bool RemoteSessions::try_again_locked(const Key& key, Entry& entry, Refused& refused) {
  if (entry.disconnect.has_value()) {
    if (!say(entry.binding, BindingEvent::Disconnect, *entry.disconnect)) return false;
    entry.disconnect.reset();
  }
  if (entry.end.has_value()) return say(entry.binding, *entry.end, {});
  take_waiting_locked(entry, refused);
  tell_taken_locked(key, entry);
  const std::uint64_t untold = entry.received - entry.waiting.size() - entry.told;
  return entry.waiting.empty() && untold < remote_session_packets / 2;
}

void RemoteSessions::refuse(const Refused& refused) {
  for (const auto& [envelope, error] : refused) {
    if (!envelope.reply.is_one_way()) {
      // That this node stops is its own affair.
      envelope.reply.complete(fail(as_seen_elsewhere(error)));
      continue;
    }
    core_.metrics.refused_messages.add();
    core_.log(LogLevel::Warning,
              fmt::format("one-way packet of a client of another node to Actor '{}' was refused: "
                          "{}",
                          envelope.id, to_string(error)));
  }
}

void RemoteSessions::let_go() {
  std::map<Key, Entry> entries;
  std::lock_guard lock(mutex_);
  stuck_.clear();
  entries.swap(entries_);
}

}  // namespace spotmesh::objects

#include "objects/remote_bindings.hpp"

#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "objects/binding_bodies.hpp"
#include "objects/core.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

// How often it is looked whether a node has become known.
constexpr Duration look_interval = std::chrono::milliseconds(50);

// How often it is tried to say what a full lane has not taken.
constexpr Duration retry_interval = std::chrono::milliseconds(20);

std::string what_of(PeerKind kind, const ActorRef& actor) {
  return fmt::format("{} of Actor '{}' on node {}", kind == PeerKind::Bind ? "bind" : "unbind",
                     actor.actor_id.text(), actor.node_rid.text);
}

}  // namespace

// What the owner was asked about a binding and has not answered.
struct RemoteBindings::Asked {
  Asked(Core& core, PeerKind kind, Done done, std::function<void()> late)
      : kind(kind), done(std::move(done)), timer(core, std::move(late)) {}
  const PeerKind kind;
  const Done done;
  StrandTimer timer;
};

RemoteBindings::RemoteBindings(Core& core)
    : core_(core),
      timer_(core, [this] { say_unsaid(); }),
      look_timer_(core, [this] { look_again(); }) {
  core.peers->handle(PeerKind::SessionTaken,
                     [this](const PeerMessage& message) { return receive_taken(message); });
  core.peers->handle(PeerKind::SessionPush,
                     [this](const PeerMessage& message) { return receive_push(message); });
  core.peers->handle(PeerKind::BindingNews,
                     [this](const PeerMessage& message) { return receive_news(message); });
  core.peers->on_peer_ended([this](const mesh::Peer& peer, const Error& reason) {
    core_.strand.post([this, peer, reason] { owner_ended(peer, reason); });
  });
}

RemoteBindings::~RemoteBindings() = default;

mesh::Peer RemoteBindings::here() const { return {core_.identity.rid, core_.identity.lifecycle}; }

bool RemoteBindings::add(Route route) {
  std::lock_guard lock(mutex_);
  if (routes_.size() >= most_routes) return false;
  const std::uint64_t generation = route.binding.generation;
  routes_.emplace(generation, std::move(route));
  return true;
}

std::optional<RemoteBindings::Route> RemoteBindings::extract(std::uint64_t generation) {
  std::lock_guard lock(mutex_);
  auto node = routes_.extract(generation);
  if (!node) return {};
  return std::move(node.mapped());
}

std::optional<RemoteBindings::Route> RemoteBindings::begin_end(std::uint64_t generation,
                                                               bool has_disconnected) {
  std::lock_guard lock(mutex_);
  const auto found = routes_.find(generation);
  if (found == routes_.end()) return {};
  found->second.is_ending = true;
  found->second.has_disconnected = has_disconnected;
  return found->second;
}

RemoteBindings::Route* RemoteBindings::find_locked(const BindingIdentity& binding,
                                                   const mesh::Peer& owner) {
  const auto found = routes_.find(binding.generation);
  if (found == routes_.end()) return nullptr;
  Route& route = found->second;
  const bool is_same = route.binding == binding && route.owner == owner && !route.is_ending;
  return is_same ? &route : nullptr;
}

bool RemoteBindings::has(const BindingIdentity& binding) const {
  std::lock_guard lock(mutex_);
  const auto found = routes_.find(binding.generation);
  return found != routes_.end() && found->second.binding == binding && !found->second.is_ending;
}

void RemoteBindings::bind(const mesh::Peer& owner, ActorRef ref, const BindingIdentity& binding,
                          Instant deadline, Done done) {
  Unreached bind{owner, std::move(ref), binding, deadline, std::move(done)};
  if (is_settled(bind)) {
    return begin_bind(bind.owner, std::move(bind.ref), bind.binding, bind.deadline,
                      std::move(bind.done));
  }
  // A node that has come a moment ago.
  core_.directory->want(owner.node);
  unreached_.push_back(std::move(bind));
  look_timer_.arm(core_.now() + look_interval);
}

bool RemoteBindings::is_settled(const Unreached& bind) const {
  return !core_.peers->has_peers() || core_.is_draining() || core_.now() >= bind.deadline ||
         core_.directory->find(bind.owner) != nullptr;
}

void RemoteBindings::look_again() {
  for (Unreached& bind : std::exchange(unreached_, {})) {
    this->bind(bind.owner, std::move(bind.ref), bind.binding, bind.deadline, std::move(bind.done));
  }
}

void RemoteBindings::begin_bind(const mesh::Peer& owner, ActorRef ref,
                                const BindingIdentity& binding, Instant deadline, Done done) {
  ref.node_rid = owner.node;
  const Route route{.actor = std::move(ref), .binding = binding, .owner = owner};
  if (!add(route)) {
    return done(fail(Error::capacity_exceeded(
        fmt::format("{}: this node has {} bindings to Actors of other nodes, which is the most",
                    what_of(PeerKind::Bind, route.actor), most_routes))));
  }
  const auto body = bind_body(binding, route.actor.actor_id, route.actor.object_generation,
                              deadline, core_.now());
  ask(route, PeerKind::Bind, body, deadline, std::move(done));
}

void RemoteBindings::unbind(const BindingIdentity& binding, Instant deadline, Done done) {
  const std::optional<Route> route = begin_end(binding.generation, false);
  // The owner has ended it a moment ago.
  if (!route.has_value()) return done({});
  ask(*route, PeerKind::Unbind, unbind_body(binding, false), deadline, std::move(done));
}

void RemoteBindings::session_ended(const BindingIdentity& binding) {
  end_quietly(binding.generation, true);
}

void RemoteBindings::ask(const Route& route, PeerKind kind, const FlatBufferBuilder& body,
                         Instant deadline, Done done) {
  const std::uint64_t generation = route.binding.generation;
  const auto call =
      core_.peers->call(route.owner, mesh::Lane::Messages, kind, &body, Instant::max(),
                        on_strand(core_, [this, generation](const Result<PeerMessage>& answer) {
                          if (!answer) return finish(generation, fail(answer.error()));
                          if (answer->kind == PeerKind::Bound) return finish(generation, {});
                          finish(generation, fail(unsound(*answer, "it does not answer the call")));
                        }));
  if (!call && kind == PeerKind::Bind) {
    extract(generation);
    return done(fail(call.error()));
  }
  if (!call) {
    // The binding is over here, and the owner learns it as soon as it can be told.
    end_quietly(generation, false);
    return done({});
  }
  auto late = [this, generation, kind, call = *call, what = what_of(kind, route.actor)] {
    on_late(generation, kind, call, what);
  };
  auto& asked = asked_[generation];
  asked = std::make_unique<Asked>(core_, kind, std::move(done), std::move(late));
  asked->timer.arm(deadline);
}

// The owner has said so, or its run is over, or this node's.
void RemoteBindings::finish(std::uint64_t generation, Result<void> result) {
  const auto asked = asked_.extract(generation);
  if (!asked) return;
  const bool was_unbind = asked.mapped()->kind == PeerKind::Unbind;
  if (was_unbind || !result) extract(generation);
  if (was_unbind) result = {};
  asked.mapped()->done(std::move(result));
}

// Whether it has bound is not known; if it has, or does so yet, that ends behind it.
void RemoteBindings::on_late(std::uint64_t generation, PeerKind kind, std::uint64_t call,
                             std::string what) {
  const auto asked = asked_.extract(generation);
  if (!asked) return;
  core_.peers->forget(call);
  if (kind == PeerKind::Bind) {
    end_quietly(generation, false);
  } else {
    extract(generation);
  }
  asked.mapped()->done(
      fail(Error::deadline_exceeded(what + ": the Actor's node has not answered in time")));
}

void RemoteBindings::end_quietly(std::uint64_t generation, bool has_disconnected) {
  const std::optional<Route> route = begin_end(generation, has_disconnected);
  if (!route.has_value() || say_end(*route)) return;
  unsaid_.insert(generation);
  timer_.arm(core_.now() + retry_interval);
}

bool RemoteBindings::say_end(const Route& route) {
  const auto body = unbind_body(route.binding, route.has_disconnected);
  const auto sent =
      core_.peers->send(route.owner, mesh::Lane::Messages, peer_bytes(PeerKind::Unbind, 0, &body));
  if (!sent && !core_.peers->is_over(route.owner) && !core_.is_stopped()) return false;
  extract(route.binding.generation);
  return true;
}

void RemoteBindings::say_unsaid() {
  std::set<mesh::Peer> full;
  for (auto next = unsaid_.begin(); next != unsaid_.end();) {
    std::optional<Route> route;
    {
      std::lock_guard lock(mutex_);
      const auto found = routes_.find(*next);
      if (found != routes_.end()) route = found->second;
    }
    const bool waits = route.has_value() && (full.contains(route->owner) || !say_end(*route));
    if (waits) full.insert(route->owner);
    next = waits ? std::next(next) : unsaid_.erase(next);
  }
  if (!unsaid_.empty()) timer_.arm(core_.now() + retry_interval);
}

void RemoteBindings::owner_ended(const mesh::Peer& owner, const Error& reason) {
  std::vector<Route> ended;
  {
    std::lock_guard lock(mutex_);
    for (auto route = routes_.begin(); route != routes_.end();) {
      const auto here = route++;
      if (here->second.owner == owner) ended.push_back(std::move(routes_.extract(here).mapped()));
    }
  }
  for (const Route& route : ended) {
    const std::uint64_t generation = route.binding.generation;
    unsaid_.erase(generation);
    if (asked_.contains(generation)) {
      finish(generation, fail(reason));
    } else if (!route.is_ending) {
      core_.sessions->on_actor_gone(route.binding, route.actor.actor_id);
    }
  }
}

Result<void> RemoteBindings::relay(const BindingIdentity& binding, const Message& message,
                                   const std::optional<Instant>& deadline,
                                   const std::shared_ptr<ReplyFunction>& reply) {
  mesh::Peer owner;
  std::uint64_t sequence = 0;
  {
    std::lock_guard lock(mutex_);
    const auto found = routes_.find(binding.generation);
    if (found == routes_.end() || found->second.binding != binding || found->second.is_ending) {
      return fail(Error::invalid_operation("the Actor is no longer bound to this session"));
    }
    Route& route = found->second;
    if (route.sent - route.taken >= remote_session_packets) {
      return fail(Error::capacity_exceeded(
          fmt::format("Actor '{}' has not taken {} packets of this session yet, which is the most",
                      route.actor.actor_id.text(), remote_session_packets)));
    }
    owner = route.owner;
    sequence = ++route.sent;
  }
  const auto body = session_packet(binding, sequence, message, deadline, core_.now());
  Result<void> sent;
  if (!reply) {
    sent =
        core_.peers->send(owner, mesh::Lane::Messages, peer_bytes(PeerKind::SessionSend, 0, &body));
  } else {
    auto call = core_.peers->call(
        owner, mesh::Lane::Messages, PeerKind::SessionRequest, &body,
        deadline.value_or(Instant::max()),
        [&application = core_.application, reply](const Result<PeerMessage>& answer) {
          reply->call(read_reply(answer, application));
        });
    if (!call) sent = fail(call.error());
  }
  if (sent) return {};
  {
    std::lock_guard lock(mutex_);
    const auto found = routes_.find(binding.generation);
    if (found != routes_.end()) --found->second.sent;
  }
  // While that run goes on, its lane takes messages again.
  const bool is_full =
      sent.error().kind() == ErrorKind::Unavailable && !core_.peers->is_over(owner);
  return fail(is_full ? Error::capacity_exceeded(sent.error().message()) : sent.error());
}

Result<void> RemoteBindings::receive_taken(const PeerMessage& message) {
  const auto read = read_session_taken(message, here());
  if (!read) return fail(read.error());
  std::lock_guard lock(mutex_);
  Route* route = find_locked(read->binding, message.from);
  if (route == nullptr) return {};
  if (read->sequence > route->sent || read->sequence < route->taken) {
    return fail(unsound(message, "it has taken packets that were not sent"));
  }
  route->taken = read->sequence;
  return {};
}

Result<void> RemoteBindings::receive_push(const PeerMessage& message) {
  const auto read = read_session_push(message, here(), core_.application);
  if (!read) return fail(read.error());
  bool is_present = false;
  {
    std::lock_guard lock(mutex_);
    is_present = find_locked(read->binding, message.from) != nullptr;
  }
  if (!is_present) {
    core_.metrics.stale_refused.add();
    return {};
  }
  // One that the session does not take is counted there.
  (void)core_.sessions->push(read->binding, read->message);
  return {};
}

Result<void> RemoteBindings::receive_news(const PeerMessage& message) {
  const auto read = read_binding_news(message, here());
  if (!read) return fail(read.error());
  const bool is_end = read->event != BindingEvent::Disconnect;
  std::optional<ActorRef> actor;
  {
    std::lock_guard lock(mutex_);
    Route* route = find_locked(read->binding, message.from);
    if (route != nullptr) actor = route->actor;
    if (route != nullptr && is_end) routes_.erase(read->binding.generation);
  }
  if (!actor.has_value()) {
    core_.metrics.stale_refused.add();
    return {};
  }
  switch (read->event) {
    case BindingEvent::Replaced:
      core_.sessions->on_replaced(read->binding, *actor);
      break;
    case BindingEvent::Gone:
      core_.sessions->on_actor_gone(read->binding, actor->actor_id);
      break;
    case BindingEvent::Disconnect:
      core_.sessions->disconnect(read->binding, read->reason);
      break;
  }
  return {};
}

}  // namespace spotmesh::objects

#include "objects/router.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/message_job.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"
#include "objects/registry.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

// How often it is looked whether a node has become known.
constexpr Duration look_interval = std::chrono::milliseconds(50);

// The mailbox has room and is open, or the error names whose it is.
template <typename Cell>
Result<void> push_message(Cell& cell, const Envelope& envelope) {
  auto pushed = cell.mailbox().push(
      runtime::Lane::Application,
      std::make_unique<MessageJob>(cell, envelope.message, envelope.deadline, envelope.reply));
  if (pushed) return pushed;
  return fail(Error(pushed.error().kind(),
                    fmt::format("{}: {}", envelope.what(), pushed.error().message())));
}

Error too_many_waiting(const Envelope& envelope) {
  return Error::capacity_exceeded(fmt::format("{}: {} messages wait for the id to be resolved",
                                              envelope.what(),
                                              limits::sends_waiting_for_resolve_per_id));
}

}  // namespace

// Whoever lives on this node under an id.
struct Router::Local {
  runtime::Ref<ActorCell> actor;
  runtime::Ref<SpotCell> spot;
  explicit operator bool() const { return actor || spot; }
};

Router::Router(Core& core)
    : core_(core),
      order_(core),
      messages_(core),
      routes_(core.config.route_cache_entries),
      look_timer_(core, [this] { look_for_owners(); }) {
  core.peers->on_peer_ended(
      [this](const mesh::Peer& peer, const Error&) { forget_owner(peer.node); });
}

Router::Local Router::find_local(TargetKind kind, std::string_view id) const {
  if (kind == TargetKind::Actor) return {.actor = core_.registry->find_actor(id)};
  return {.spot = core_.registry->find_spot(id)};
}

void Router::submit(Envelope envelope) {
  // In this order: what must wait for an object that arrives here does so before it can be found.
  const Local local = find_local(envelope.kind, envelope.id);
  if (waiting_keys_.load(std::memory_order_acquire) > 0 && join_queue(envelope)) return;
  if (local) return accept(envelope, deliver(local, envelope));
  if (!try_route(envelope)) resolve(std::move(envelope));
}

bool Router::join_queue(Envelope& envelope) {
  std::unique_lock lock(mutex_);
  const auto waiting = waiting_.find(Key(envelope.kind, envelope.id));
  if (waiting == waiting_.end()) return false;
  if (waiting->second.size() < limits::sends_waiting_for_resolve_per_id) {
    waiting->second.push_back(std::move(envelope));
    return true;
  }
  lock.unlock();
  envelope.refuse(too_many_waiting(envelope));
  return true;
}

Result<void> Router::deliver(ActorCell& actor, const Envelope& envelope) {
  return push_message(actor, envelope);
}

Result<void> Router::deliver(SpotCell& spot, const Envelope& envelope) {
  return push_message(spot, envelope);
}

Result<void> Router::deliver(const Local& local, const Envelope& envelope) {
  return local.actor ? deliver(*local.actor, envelope) : deliver(*local.spot, envelope);
}

std::optional<Result<void>> Router::try_deliver(const Envelope& envelope) {
  const Local local = find_local(envelope.kind, envelope.id);
  if (!local) return {};
  return deliver(local, envelope);
}

void Router::accept(Envelope& envelope, Result<void> result) {
  if (!result) {
    envelope.refuse(std::move(result.error()));
  } else if (envelope.accepted) {
    envelope.accepted->complete({});
  }
}

bool Router::try_route(Envelope& envelope) {
  std::optional<Route> route;
  {
    std::lock_guard lock(mutex_);
    route = routes_.find(envelope.kind, envelope.id, core_.now());
  }
  if (!route.has_value()) return false;
  const auto former = order_.former_route(envelope.kind, envelope.id);
  if (!former.has_value() || *former == route->owner) {
    submit_remote(route->owner, std::move(envelope));
    return true;
  }
  const Key key(envelope.kind, envelope.id);
  if (wait(key, std::move(envelope))) {
    core_.strand.post([this, key, former = *former] { fence(key, former); });
  }
  return true;
}

void Router::submit_remote(const mesh::Peer& owner, Envelope envelope) {
  const std::uint64_t before = order_.position(owner);
  auto sent =
      messages_.submit(owner, envelope, [this, owner, before] { order_.confirm(owner, before); });
  if (sent) {
    order_.sent(envelope.kind, envelope.id, owner);
  } else {
    sent = fail(
        Error(sent.error().kind(), fmt::format("{}: {}", envelope.what(), sent.error().message())));
  }
  accept(envelope, std::move(sent));
}

bool Router::wait(const Key& key, Envelope envelope) {
  std::lock_guard lock(mutex_);
  auto [waiting, is_first] = waiting_.try_emplace(key);
  waiting->second.push_back(std::move(envelope));
  if (is_first) waiting_keys_.fetch_add(1, std::memory_order_release);
  return is_first;
}

void Router::resolve(Envelope envelope) {
  const Key key(envelope.kind, envelope.id);
  // What comes to wait behind it may have more time than it has.
  const Instant usual = core_.now() + limits::default_operation_timeout;
  const Instant deadline = std::max(envelope.deadline.value_or(usual), usual);
  if (!wait(key, std::move(envelope))) return;
  core_.strand.post([this, key, deadline] { start_lookup(key, deadline); });
}

void Router::start_lookup(const Key& key, Instant deadline) {
  core_.operations->find(
      object_key(key.first, key.second), deadline,
      [this, key, asked = core_.now()](const Result<location::FindOutcome>& outcome) {
        on_found(key, asked, outcome);
      });
}

void Router::on_found(const Key& key, Instant asked, const Result<location::FindOutcome>& outcome) {
  if (!outcome) return release_waiting(key, outcome.error());
  const std::string name = target_name(key.first, key.second);
  if (auto error = error_of(*outcome, name)) return release_waiting(key, *std::move(error));
  if (outcome->owner->rid == core_.identity.rid) {
    // Ready by now, or a leftover of a creation whose outcome was unclear.
    if (!core_.lease->holdings().has(object_key(key.first, key.second).key,
                                     outcome->authority->record.object_generation)) {
      remove_leftover(key, *outcome);
    }
    return release_waiting(key, Error::unavailable(name + " is no longer on this node"));
  }
  learn(key, asked, *outcome);
  release_when_reachable(key, owner_of(*outcome), asked + limits::default_operation_timeout);
}

void Router::release_when_reachable(const Key& key, const mesh::Peer& owner, Instant until) {
  const bool is_settled = !core_.peers->has_peers() || core_.directory->find(owner) != nullptr;
  if (is_settled || core_.now() >= until) return release_waiting(key, {});
  // A node that has come a moment ago.
  core_.directory->want(owner.node);
  unreached_.push_back({key, owner, until});
  look_timer_.arm(core_.now() + look_interval);
}

void Router::look_for_owners() {
  for (const Unreached& each : std::exchange(unreached_, {})) {
    release_when_reachable(each.key, each.owner, each.until);
  }
}

void Router::learn(const Key& key, Instant asked, const location::FindOutcome& found) {
  // A lease that was good when it was read admits work for at most so long.
  const Duration age =
      std::min(core_.config.route_cache_max_age, core_.config.lease.admission_time());
  std::lock_guard lock(mutex_);
  routes_.learn(key.first, key.second,
                {.owner = owner_of(found),
                 .generation = found.authority->record.object_generation,
                 .version = found.authority->version,
                 .valid_until = asked + age});
}

void Router::remove_leftover(const Key& key, const location::FindOutcome& found) {
  const location::ObjectKey object = object_key(key.first, key.second);
  core_.operations->settle(
      "removing the leftover record of " + object.name,
      location::remove_object(core_.lease->view(), object.key, found.authority->version),
      core_.now() + limits::default_operation_timeout, [](const location::SettleOutcome&) {});
}

std::optional<mesh::Peer> Router::former_route(const Key& key) {
  auto former = order_.former_route(key.first, key.second);
  if (!former.has_value() || find_local(key.first, key.second)) return former;
  std::lock_guard lock(mutex_);
  const auto route = routes_.find(key.first, key.second, core_.now());
  if (!route.has_value() || route->owner == *former) return {};
  return former;
}

void Router::fence(const Key& key, const mesh::Peer& former) {
  order_.fence(former, [this, key](const Result<void>& taken) {
    if (taken) {
      release_waiting(key, {});
    } else {
      refuse_waiting(key, taken.error());
    }
  });
}

void Router::release_waiting(const Key& key, const std::optional<Error>& error) {
  while (true) {
    if (const auto former = former_route(key)) return fence(key, *former);
    std::deque<Envelope> batch = take_waiting(key);
    if (batch.empty()) return;
    for (Envelope& envelope : batch) {
      if (runtime::fault_strikes(core_.seams.faults, "router.lose-resolved")) {
        accept(envelope, {});
      } else {
        hand_on(std::move(envelope), error);
      }
    }
  }
}

void Router::refuse_waiting(const Key& key, const Error& error) {
  for (auto batch = take_waiting(key); !batch.empty(); batch = take_waiting(key)) {
    for (Envelope& envelope : batch) envelope.refuse(error);
  }
}

std::deque<Envelope> Router::take_waiting(const Key& key) {
  std::lock_guard lock(mutex_);
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return {};
  if (!waiting->second.empty()) return std::exchange(waiting->second, {});
  waiting_.erase(waiting);
  waiting_keys_.fetch_sub(1, std::memory_order_release);
  return {};
}

void Router::hand_on(Envelope envelope, const std::optional<Error>& error) {
  if (const Local local = find_local(envelope.kind, envelope.id)) {
    return accept(envelope, deliver(local, envelope));
  }
  if (error.has_value()) {
    if (envelope.accepted) core_.metrics.undelivered_sends.add();
    return envelope.refuse(*error);
  }
  std::optional<Route> route;
  {
    std::lock_guard lock(mutex_);
    route = routes_.find(envelope.kind, envelope.id, core_.now());
  }
  if (route.has_value()) return submit_remote(route->owner, std::move(envelope));
  envelope.refuse(Error::unavailable(
      fmt::format("{}: the route was lost while it was looked up", envelope.what())));
}

void Router::arrives(TargetKind kind, const std::string& id) {
  const Key key(kind, id);
  const auto former = order_.former_route(kind, id);
  {
    std::lock_guard lock(mutex_);
    routes_.forget(kind, id);
    if (!former.has_value() || !waiting_.try_emplace(key).second) return;
    waiting_keys_.fetch_add(1, std::memory_order_release);
  }
  fence(key, *former);
}

void Router::forget_routes() {
  std::lock_guard lock(mutex_);
  routes_.clear();
}

void Router::forget_owner(const NodeRid& node) {
  std::lock_guard lock(mutex_);
  routes_.forget_owner(node);
}

void Router::forget_stale(const mesh::Peer& owner, TargetKind kind, std::string_view id) {
  std::lock_guard lock(mutex_);
  const auto route = routes_.find(kind, id, core_.now());
  if (route.has_value() && route->owner == owner) routes_.forget(kind, id);
}

void Router::refuse_all(const Error& error) {
  std::map<Key, std::deque<Envelope>> waiting;
  {
    std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
    waiting_keys_.store(0, std::memory_order_release);
  }
  for (auto& [key, envelopes] : waiting) {
    for (Envelope& envelope : envelopes) envelope.refuse(error);
  }
}

}  // namespace spotmesh::objects

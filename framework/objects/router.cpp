#include "objects/router.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/message_job.hpp"
#include "objects/registry.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

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

}  // namespace

Router::Router(Core& core) : core_(core), routes_(core.config.route_cache_entries) {}

void Router::submit(Envelope envelope) {
  if (waiting_keys_.load(std::memory_order_acquire) > 0) {
    std::unique_lock lock(mutex_);
    const auto waiting = waiting_.find(Key(envelope.kind, envelope.id));
    if (waiting != waiting_.end()) {
      if (waiting->second.size() < limits::sends_waiting_for_resolve_per_id) {
        waiting->second.push_back(std::move(envelope));
        return;
      }
      lock.unlock();
      envelope.refuse(Error::capacity_exceeded(
          fmt::format("{}: {} messages wait for the id to be resolved", envelope.what(),
                      limits::sends_waiting_for_resolve_per_id)));
      return;
    }
  }
  if (try_local(envelope) || try_route(envelope)) return;
  resolve(std::move(envelope));
}

Result<void> Router::deliver(ActorCell& actor, const Envelope& envelope) {
  return push_message(actor, envelope);
}

Result<void> Router::deliver(SpotCell& spot, const Envelope& envelope) {
  return push_message(spot, envelope);
}

void Router::accept(Envelope& envelope, Result<void> result) {
  if (!result) {
    envelope.refuse(std::move(result.error()));
  } else if (envelope.accepted) {
    envelope.accepted->complete({});
  }
}

bool Router::try_local(Envelope& envelope) {
  if (envelope.kind == TargetKind::Actor) {
    const auto actor = core_.registry->find_actor(envelope.id);
    if (actor) accept(envelope, deliver(*actor, envelope));
    return static_cast<bool>(actor);
  }
  const auto spot = core_.registry->find_spot(envelope.id);
  if (spot) accept(envelope, deliver(*spot, envelope));
  return static_cast<bool>(spot);
}

bool Router::try_route(Envelope& envelope) {
  std::optional<Route> route;
  {
    std::lock_guard lock(mutex_);
    route = routes_.find(envelope.kind, envelope.id, core_.now());
  }
  if (!route.has_value()) return false;
  submit_remote(*route, std::move(envelope));
  return true;
}

void Router::submit_remote(const Route& route, Envelope envelope) {
  const RemoteTarget target{envelope.kind == TargetKind::Actor, envelope.id, route.generation};
  std::function<void(Result<Message>)> reply;
  if (!envelope.reply.is_one_way()) {
    reply = [sink = envelope.reply](Result<Message> outcome) { sink.complete(std::move(outcome)); };
  }
  accept(envelope, core_.seams.remote.submit(route.owner, target, envelope.message,
                                             envelope.deadline, std::move(reply)));
}

void Router::resolve(Envelope envelope) {
  const Key key(envelope.kind, envelope.id);
  const Instant deadline =
      envelope.deadline.value_or(core_.now() + limits::default_operation_timeout);
  {
    std::lock_guard lock(mutex_);
    auto [waiting, is_first] = waiting_.try_emplace(key);
    waiting->second.push_back(std::move(envelope));
    if (!is_first) return;
    waiting_keys_.fetch_add(1, std::memory_order_release);
  }
  core_.strand.post([this, key, deadline] { start_lookup(key, deadline); });
}

void Router::start_lookup(const Key& key, Instant deadline) {
  core_.operations->find(
      object_key(key.first, key.second), deadline,
      [this, key](const Result<location::FindOutcome>& outcome) { on_found(key, outcome); });
}

void Router::on_found(const Key& key, const Result<location::FindOutcome>& outcome) {
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
  learn(key, *outcome);
  release_waiting(key, {});
}

void Router::learn(const Key& key, const location::FindOutcome& found) {
  // A lease that was good when it was read admits work for at most so long.
  const Duration age =
      std::min(core_.config.route_cache_max_age, core_.config.lease.admission_time());
  std::lock_guard lock(mutex_);
  routes_.learn(key.first, key.second,
                {.owner = remote_owner(found),
                 .generation = found.authority->record.object_generation,
                 .version = found.authority->version,
                 .valid_until = core_.now() + age});
}

void Router::remove_leftover(const Key& key, const location::FindOutcome& found) {
  const location::ObjectKey object = object_key(key.first, key.second);
  core_.operations->settle(
      "removing the leftover record of " + object.name,
      location::remove_object(core_.lease->view(), object.key, found.authority->version),
      core_.now() + limits::default_operation_timeout, [](const location::SettleOutcome&) {});
}

void Router::release_waiting(const Key& key, const std::optional<Error>& error) {
  while (true) {
    std::deque<Envelope> batch;
    {
      std::lock_guard lock(mutex_);
      const auto waiting = waiting_.find(key);
      if (waiting == waiting_.end()) return;
      if (waiting->second.empty()) {
        waiting_.erase(waiting);
        waiting_keys_.fetch_sub(1, std::memory_order_release);
        return;
      }
      batch.swap(waiting->second);
    }
    for (Envelope& envelope : batch) {
      if (runtime::fault_strikes(core_.seams.faults, "router.lose-resolved")) {
        accept(envelope, {});
      } else {
        hand_on(std::move(envelope), error);
      }
    }
  }
}

void Router::hand_on(Envelope envelope, const std::optional<Error>& error) {
  if (try_local(envelope)) return;
  if (error.has_value()) {
    if (envelope.accepted) core_.metrics.undelivered_sends.add();
    envelope.refuse(*error);
    return;
  }
  if (try_route(envelope)) return;
  envelope.refuse(Error::unavailable(
      fmt::format("{}: the route was lost while it was looked up", envelope.what())));
}

void Router::forget_routes() {
  std::lock_guard lock(mutex_);
  routes_.clear();
}

void Router::forget_owner(const NodeRid& node) {
  std::lock_guard lock(mutex_);
  routes_.forget_owner(node);
}

void Router::forget_route(TargetKind kind, std::string_view id) {
  std::lock_guard lock(mutex_);
  routes_.forget(kind, id);
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

#include "objects/router.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>
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
Result<void> push_message(Cell& cell, Message& message, std::optional<Instant> deadline,
                          ReplySink reply) {
  const auto kind =
      reply.is_one_way() ? registration::MessageKind::Send : registration::MessageKind::Request;
  std::unique_ptr<runtime::Job> job =
      std::make_unique<MessageJob>(cell, std::move(message), deadline, std::move(reply));
  auto pushed = cell.mailbox().try_push(runtime::Lane::Application, job);
  if (pushed) return pushed;
  if (job != nullptr) message = static_cast<MessageJob&>(*job).give_back();
  constexpr auto target = std::is_same_v<Cell, ActorCell> ? TargetKind::Actor : TargetKind::Spot;
  return fail(Error(pushed.error().kind(),
                    fmt::format("{}: {}", describe_message(kind, message, target, cell.id().text()),
                                pushed.error().message())));
}

}  // namespace

// Whoever lives on this node under an id.
struct Router::Local {
  runtime::Ref<ActorCell> actor;
  runtime::Ref<SpotCell> spot;
  explicit operator bool() const { return actor || spot; }
};

// What has waited for a route leaves outside any turn, so it waits for admission by itself.
class Router::HeldBack final : public runtime::Flushable {
 public:
  HeldBack(Router& router, Key key) : router_(router), key_(std::move(key)) {}
  void flush() override {
    router_.core_.strand.post([&router = router_, key = key_] { router.see_to(key); });
  }

 private:
  Router& router_;
  const Key key_;
};

Router::Router(Core& core)
    : core_(core),
      order_(core),
      messages_(core),
      waiting_(runtime::make_ref<WaitingMessages>(
          [this](const Key& key) { core_.strand.post([this, key] { see_to(key); }); })),
      routes_(core.config.route_cache_entries),
      look_timer_(core, [this] { look_again(); }) {
  core.peers->on_peer_ended(
      [this](const mesh::Peer& peer, const Error&) { forget_owner(peer.node); });
}

Router::~Router() { waiting_->detach(); }

Router::Local Router::find_local(TargetKind kind, std::string_view id) const {
  if (kind == TargetKind::Actor) return {.actor = core_.registry->find_actor(id)};
  return {.spot = core_.registry->find_spot(id)};
}

std::optional<Result<void>> Router::submit_here(Envelope& envelope) {
  // In this order, as in submit().
  const Local local = find_local(envelope.kind, envelope.id);
  if (!local || !waiting_->is_empty() || order_.has_unsaid()) return {};
  return deliver(local, envelope);
}

void Router::submit(Envelope envelope) {
  // In this order: what must wait for an object that arrives here does so before it can be found.
  const Local local = find_local(envelope.kind, envelope.id);
  if (waiting_->join(envelope)) return;
  if (local) {
    const bool may_overtake =
        order_.has_unsaid() && order_.former_route(envelope.kind, envelope.id).has_value();
    if (may_overtake) return waiting_->wait(std::move(envelope));
    return accept(envelope, deliver(local, envelope));
  }
  if (!try_route(envelope)) waiting_->wait(std::move(envelope));
}

Result<void> Router::deliver(ActorCell& actor, Message& message, std::optional<Instant> deadline,
                             ReplySink reply) {
  return push_message(actor, message, deadline, std::move(reply));
}

Result<void> Router::deliver(ActorCell& actor, Envelope& envelope) {
  return push_message(actor, envelope.message, envelope.deadline, envelope.reply);
}

Result<void> Router::deliver(SpotCell& spot, Envelope& envelope) {
  return push_message(spot, envelope.message, envelope.deadline, envelope.reply);
}

Result<void> Router::deliver(const Local& local, Envelope& envelope) {
  return local.actor ? deliver(*local.actor, envelope) : deliver(*local.spot, envelope);
}

std::optional<Result<void>> Router::try_deliver(Envelope& envelope) {
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
  const auto owner = known_owner(envelope.kind, envelope.id);
  if (!owner.has_value()) return false;
  const auto former = order_.former_route(envelope.kind, envelope.id);
  if (former.has_value() && *former != *owner) return false;
  submit_remote(*owner, std::move(envelope));
  return true;
}

std::optional<mesh::Peer> Router::known_owner(TargetKind kind, std::string_view id) {
  std::lock_guard lock(mutex_);
  auto route = routes_.find(kind, id, core_.now());
  if (!route.has_value()) return {};
  return std::move(route->owner);
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

void Router::see_to(const Key& key) {
  if (find_local(key.first, key.second)) return release_waiting(key, {});
  if (auto owner = known_owner(key.first, key.second)) return release_waiting(key, *owner);
  if (waiting_->go_on(key)) start_lookup(key);
}

void Router::start_lookup(const Key& key) {
  // What comes to wait behind them may have more time than they have.
  const Instant usual = core_.now() + limits::default_operation_timeout;
  const Instant deadline = std::max(waiting_->latest_deadline(key).value_or(usual), usual);
  core_.operations->find(object_key(key.first, key.second), deadline,
                         [this, key, asked = core_.now(),
                          epochs = epochs_.load()](const Result<location::FindOutcome>& outcome) {
                           // What was read before all routes were forgotten teaches none.
                           if (outcome && epochs != epochs_) return start_lookup(key);
                           on_found(key, asked, outcome);
                         });
}

void Router::on_found(const Key& key, Instant asked, const Result<location::FindOutcome>& outcome) {
  if (!outcome) return release_waiting(key, fail(outcome.error()));
  const std::string name = target_name(key.first, key.second);
  if (auto error = error_of(*outcome, name)) return release_waiting(key, fail(*std::move(error)));
  if (outcome->owner->rid == core_.identity.rid) {
    // Ready by now, or about to go.
    return release_waiting(key, fail(Error::unavailable(name + " is no longer on this node")));
  }
  learn(key, asked, *outcome);
  release_when_reachable(key, owner_of(*outcome), asked + limits::default_operation_timeout);
}

void Router::release_when_reachable(const Key& key, const mesh::Peer& owner, Instant until) {
  const bool is_settled = !core_.peers->has_peers() || core_.directory->find(owner) != nullptr;
  if (is_settled || core_.now() >= until) return release_waiting(key, owner);
  // A node that has come a moment ago.
  core_.directory->want(owner.node);
  unreached_.push_back({key, owner, until});
  look_timer_.arm(core_.now() + look_interval);
}

void Router::look_again() {
  for (const Key& key : std::exchange(untaken_, {})) see_to(key);
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

std::optional<mesh::Peer> Router::former_route(const Key& key, const Found& found) const {
  auto former = order_.former_route(key.first, key.second);
  if (!former.has_value() || find_local(key.first, key.second)) return former;
  const bool goes_elsewhere = found.has_value() && found->has_value() && **found != *former;
  if (!goes_elsewhere) former.reset();
  return former;
}

void Router::fence(const Key& key, const mesh::Peer& former) {
  order_.fence(former, [this, key](const Result<void>& taken) {
    if (taken) {
      see_to(key);
    } else {
      refuse_waiting(key, taken.error());
    }
  });
}

void Router::release_waiting(const Key& key, const Found& found) {
  const bool has_failed = found.has_value() && !found->has_value();
  while (true) {
    // Said at the end of a turn that has outlived the node's calls: nothing leaves any more.
    if (core_.is_stopped()) return refuse_line(key, core_.stopping_error());
    if (const auto former = former_route(key, found)) return fence(key, *former);
    if (!has_failed && !core_.admission.is_open(core_.now())) return hold_back(key);
    std::deque<Envelope> batch = waiting_->take(key);
    if (batch.empty()) return;
    for (Envelope& envelope : batch) {
      if (runtime::fault_strikes(core_.seams.faults, "router.lose-resolved")) {
        accept(envelope, {});
      } else {
        hand_on(std::move(envelope), found);
      }
    }
  }
}

void Router::refuse_waiting(const Key& key, const Error& error) {
  for (Envelope& envelope : waiting_->take_and_hold(key)) envelope.refuse(error);
  if (find_local(key.first, key.second)) {
    // Nobody who finds the object here would ask for what is on its way elsewhere.
    untaken_.push_back(key);
    return look_timer_.arm(core_.now() + look_interval);
  }
  refuse_line(key, error);
}

void Router::refuse_line(const Key& key, const Error& error) {
  for (auto batch = waiting_->take(key); !batch.empty(); batch = waiting_->take(key)) {
    for (Envelope& envelope : batch) envelope.refuse(error);
  }
}

void Router::hold_back(const Key& key) {
  core_.admission.hold_flush({runtime::make_ref<HeldBack>(*this, key)}, core_.now());
}

void Router::hand_on(Envelope envelope, const Found& found) {
  if (const Local local = find_local(envelope.kind, envelope.id)) {
    return accept(envelope, deliver(local, envelope));
  }
  // The way that was found, also when its route has been forgotten since: whoever lives there, or
  // does not, says so.
  if (found.has_value() && found->has_value()) return submit_remote(**found, std::move(envelope));
  if (envelope.accepted) core_.metrics.undelivered_sends.add();
  envelope.refuse(found.has_value()
                      ? found->error()
                      : Error::unavailable(fmt::format("{}: it has ended on this node a moment ago",
                                                       envelope.what())));
}

void Router::arrives(TargetKind kind, const std::string& id) {
  const Key key(kind, id);
  const auto former = order_.former_route(kind, id);
  {
    std::lock_guard lock(mutex_);
    routes_.forget(kind, id);
  }
  if (former.has_value() && waiting_->hold(key)) fence(key, *former);
}

void Router::forget_routes() {
  ++epochs_;
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
  for (Envelope& envelope : waiting_->take_all()) envelope.refuse(error);
}

}  // namespace spotmesh::objects

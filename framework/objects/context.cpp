#include <spotmesh/context.hpp>

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/actor_cell.hpp"
#include "objects/caller.hpp"
#include "objects/checkpoints.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/remote_sessions.hpp"
#include "objects/spot_cell.hpp"
#include "objects/turn_scope.hpp"
#include "objects/waiting.hpp"
#include "runtime/worker_call.hpp"

namespace spotmesh {

std::string_view Context::mesh_name() const { return caller_.mesh_name(); }
const NodeRid& Context::node_rid() const { return caller_.core().identity.rid; }
const Logger& Context::log() const { return caller_.logger(); }
WallTime Context::wall_now() const { return caller_.core().seams.clock.wall_now(); }

Instant Context::now() const {
  const runtime::Turn* turn = runtime::Turn::current();
  return turn != nullptr ? turn->now() : caller_.core().now();
}

ActorContext::ActorContext(objects::ActorCell& cell, objects::Caller& caller,
                           objects::TimerBackend& timers)
    : Context(caller), cell_(cell), bound_session_(cell), timers_(timers) {}

const ActorId& ActorContext::actor_id() const { return cell_.id(); }
ObjectGeneration ActorContext::object_generation() const { return cell_.generation(); }
ActorRef ActorContext::ref() const { return cell_.ref(); }

std::optional<SpotId> ActorContext::spot_id() const {
  const auto spot = cell_.spot();
  if (!spot) return {};
  return spot->id();
}

JoinCall ActorContext::join_spot(std::string_view spot_id, Message request) {
  return {cell_, std::string(spot_id), std::move(request)};
}

JoinCall ActorContext::join_entry_spot(Message request) {
  return {cell_, std::nullopt, std::move(request)};
}

bool BoundSession::is_bound() const { return cell_->binding().has_value(); }

Result<void> BoundSession::send(Message message) {
  const auto binding = cell_->binding();
  if (!binding.has_value()) {
    return fail(Error::invalid_operation(
        fmt::format("{} is bound to no session, so '{}' has no client to go to", cell_->name(),
                    message.packet_name())));
  }
  return cell_->core().remote_sessions->push(*binding, message);
}

Result<void> BoundSession::disconnect(std::string reason) {
  const auto binding = cell_->binding();
  if (!binding.has_value()) {
    return fail(Error::invalid_operation(cell_->name() + " is bound to no session"));
  }
  cell_->core().remote_sessions->disconnect(*binding, std::move(reason));
  return {};
}

SpotContext::SpotContext(objects::SpotCell& cell, objects::Caller& caller,
                         objects::TimerBackend& timers)
    : Context(caller), cell_(cell), timers_(timers) {}

const SpotId& SpotContext::spot_id() const { return cell_.id(); }
ObjectGeneration SpotContext::object_generation() const { return cell_.generation(); }
SpotRef SpotContext::ref() const { return cell_.ref(); }

std::size_t SpotContext::member_count() const {
  const bool has_list = cell_.shares_gate() && cell_.is_own_turn();
  return has_list ? cell_.members().size() : cell_.member_count.load();
}

std::vector<Actor*> SpotContext::all_members() {
  if (!cell_.shares_gate() || !cell_.is_own_turn()) return {};
  return cell_.usable_members();
}

Result<void> SpotContext::broadcast(Message message) {
  if (!cell_.shares_gate() || !cell_.is_own_turn()) {
    return fail(Error::invalid_operation(
        fmt::format("{} can broadcast '{}' only as a SpotWide User Spot, on a turn of its gate",
                    cell_.name(), message.packet_name())));
  }
  objects::SessionRoutes& sessions = *cell_.core().remote_sessions;
  for (const auto& member : cell_.members()) {
    // A client that has just gone misses it, as it would miss a push.
    if (const auto binding = member->binding()) (void)sessions.push(*binding, message);
  }
  return {};
}

Result<void> SpotContext::close_when_empty() {
  if (cell_.is_entry_spot()) {
    return fail(Error::invalid_operation(cell_.name() + " ends with its node only"));
  }
  cell_.core().strand.post([cell = runtime::Ref<objects::SpotCell>(&cell_)] {
    cell->closes_when_empty = true;
    cell->core().destructions->close_if_empty(*cell);
  });
  return {};
}

Task<Result<bool>> SpotContext::destroy_actor(Actor& actor) {
  objects::ActorCell& member = objects::ActorCell::of(actor);
  if (!cell_.is_entry_spot() || member.spot().get() != &cell_) {
    return objects::failed<bool>(Error::invalid_operation(
        fmt::format("{} is no member of an Entry Spot that could destroy it here", member.name())));
  }
  return actors().destroy(member.ref());
}

Result<void> ActorContext::checkpoint_after_turn() {
  objects::ObjectScope* scope = objects::ObjectScope::current();
  const bool is_own_turn = scope != nullptr && scope->actor() == &cell_;
  if (cell_.type().model->checkpoint_adapter == nullptr || !is_own_turn) {
    return fail(Error::invalid_operation(fmt::format(
        "{} cannot be checkpointed here: its type '{}' {}", cell_.name(), cell_.type().name.text(),
        is_own_turn ? "is not checkpointed_by an adapter" : "is asked outside of its own turns")));
  }
  scope->add_after_turn([cell = runtime::Ref<objects::ActorCell>(&cell_)] {
    cell->core().strand.post([cell] { cell->core().checkpoints->request(*cell); });
  });
  return {};
}

Result<void> SpotContext::destroy_actor_after_turn(Actor& actor) {
  objects::ActorCell& member = objects::ActorCell::of(actor);
  objects::ObjectScope* scope = objects::ObjectScope::current();
  if (!cell_.is_entry_spot() || member.spot().get() != &cell_ || scope == nullptr) {
    return fail(Error::invalid_operation(
        fmt::format("{} is no member of an Entry Spot that could destroy it here", member.name())));
  }
  scope->add_after_turn([cell = runtime::Ref<objects::ActorCell>(&member)] {
    cell->core().strand.post([cell] { cell->core().destructions->destroy_later(*cell); });
  });
  return {};
}

Result<void> TimerControl::start(std::string_view key, Duration period) {
  return backend_->start(key, period);
}
Result<void> TimerControl::start_once(std::string_view key, Duration delay) {
  return backend_->start_once(key, delay);
}
bool TimerControl::cancel(std::string_view key) { return backend_->cancel(key); }

std::string_view to_string(ClosingReason reason) {
  switch (reason) {
    case ClosingReason::Requested:
      return "Requested";
    case ClosingReason::Empty:
      return "Empty";
    case ClosingReason::Shutdown:
      return "Shutdown";
  }
  return "Unknown";
}

}  // namespace spotmesh

namespace spotmesh::objects {

Task<Result<void>> run_on_pool(Caller& caller, WorkerPool pool, std::function<void()> work,
                               bool gives_gate_back) {
  constexpr std::string_view what = "a worker call";
  if (!work) {
    return failed<void>(
        Error::invalid_operation("this worker call was submitted already; make a new one"));
  }
  auto turn = caller.require_turn(what);
  if (!turn) return failed<void>(turn.error());
  if (gives_gate_back) {
    if (auto may = check_may_yield(**turn, what); !may) return failed<void>(may.error());
  }
  const auto workers_pool =
      pool == WorkerPool::Cpu ? runtime::Workers::Pool::Cpu : runtime::Workers::Pool::Io;
  return wait_for(
      runtime::run_on_worker(caller.core().seams.workers, workers_pool, std::move(work)),
      gives_gate_back ? Waiting::YieldGate : Waiting::KeepTurn);
}

}  // namespace spotmesh::objects

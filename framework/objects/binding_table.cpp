#include "objects/binding_table.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/callback_job.hpp"
#include "objects/core.hpp"
#include "objects/envelope.hpp"
#include "objects/registry.hpp"
#include "objects/remote_bindings.hpp"
#include "objects/remote_sessions.hpp"
#include "objects/router.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

using runtime::Ref;

Error another_incarnation(const ActorRef& ref, ObjectGeneration living) {
  return Error::invalid_operation(
      fmt::format("bind names generation {} of Actor '{}', but generation {} lives there",
                  ref.object_generation.value, ref.actor_id.text(), living.value));
}

}  // namespace

void BindingTable::bind(const ActorRef& ref, BindingIdentity binding,
                        std::function<void(Result<void>)> done) {
  core_.strand.post([this, ref, binding = std::move(binding), done = std::move(done)] {
    if (core_.is_draining()) return done(fail(core_.stopping_error()));
    const Ref<ActorCell> actor = core_.registry->find_actor(ref.actor_id.text());
    if (!actor) return bind_elsewhere(ref, binding, done);
    done(bind_local(*actor, ref, binding));
  });
}

Result<void> BindingTable::bind_here(const ActorRef& ref, const BindingIdentity& binding) {
  if (core_.is_draining()) return fail(core_.stopping_error());
  const Ref<ActorCell> actor = core_.registry->find_actor(ref.actor_id.text());
  if (actor) return bind_local(*actor, ref, binding);
  return fail(Error::unavailable(fmt::format("bind of Actor '{}': it is not on node {} any more",
                                             ref.actor_id.text(), core_.identity.rid.text)));
}

Result<void> BindingTable::bind_local(ActorCell& actor, const ActorRef& ref,
                                      const BindingIdentity& binding) {
  if (auto error = core_.not_admitted("bind of " + actor.name())) return fail(*std::move(error));
  if (actor.generation() != ref.object_generation) {
    return fail(another_incarnation(ref, actor.generation()));
  }
  if (actor.state != CellState::Ready) {
    return fail(Error::unavailable(actor.name() + " is being destroyed"));
  }
  const std::optional<BindingIdentity> present = actor.binding();
  const bool is_stale = present.has_value() && present->session_owner == binding.session_owner &&
                        present->generation > binding.generation;
  if (is_stale) {
    core_.metrics.stale_refused.add();
    return fail(Error::invalid_operation(
        fmt::format("{} has been bound anew since this bind was made", actor.name())));
  }
  const auto former = actor.set_binding(binding);
  core_.emit("actor.bound", actor.id().text(), {{"session", to_string(binding.session)}});
  if (!former.has_value()) return {};
  if (former->session != binding.session) {
    core_.remote_sessions->on_replaced(*former, actor.ref());
  } else {
    core_.remote_sessions->superseded(*former);
  }
  return {};
}

void BindingTable::bind_elsewhere(const ActorRef& ref, const BindingIdentity& binding,
                                  std::function<void(Result<void>)> done) {
  const Instant deadline = core_.now() + limits::default_operation_timeout;
  core_.operations->find(location::ObjectKey::of(ref.actor_id), deadline,
                         [this, ref, binding, deadline,
                          done = std::move(done)](const Result<location::FindOutcome>& outcome) {
                           if (!outcome) return done(fail(outcome.error()));
                           bind_at(*outcome, ref, binding, deadline, done);
                         });
}

void BindingTable::bind_at(const location::FindOutcome& found, const ActorRef& ref,
                           const BindingIdentity& binding, Instant deadline,
                           std::function<void(Result<void>)> done) {
  const std::string name = target_name(TargetKind::Actor, ref.actor_id.text());
  if (found.standing == location::Standing::Missing) {
    return done(fail(Error::unavailable("nothing to bind to lives under " + name)));
  }
  const ObjectGeneration living = found.authority->record.object_generation;
  if (living != ref.object_generation) return done(fail(another_incarnation(ref, living)));
  if (auto error = error_of(found, name)) return done(fail(*std::move(error)));
  if (found.owner->rid == core_.identity.rid) {
    // Ready by now, or about to go.
    return done(bind_here(ref, binding));
  }
  if (auto error = core_.not_admitted("bind of " + name)) return done(fail(*std::move(error)));
  core_.remote_bindings->bind(owner_of(found), ref, binding, deadline, std::move(done));
}

void BindingTable::unbind(const ActorId& id, BindingIdentity binding,
                          std::function<void(Result<void>)> done) {
  core_.strand.post([this, id, binding = std::move(binding), done = std::move(done)] {
    if (core_.remote_bindings->has(binding)) {
      return core_.remote_bindings->unbind(binding, core_.now() + limits::default_operation_timeout,
                                           done);
    }
    end_here(core_.registry->find_actor(id.text()), binding, false);
    done({});
  });
}

void BindingTable::session_ended(const ActorId& id, BindingIdentity binding) {
  core_.strand.post([this, id, binding = std::move(binding)] {
    if (core_.remote_bindings->has(binding)) return core_.remote_bindings->session_ended(binding);
    if (const Ref<ActorCell> actor = core_.registry->find_actor(id.text())) {
      end_here(actor, binding, true);
    }
  });
}

void BindingTable::end_here(const Ref<ActorCell>& actor, const BindingIdentity& binding,
                            bool has_disconnected) {
  if (!actor || !actor->clear_binding(binding)) {
    core_.metrics.stale_refused.add();
    return;
  }
  core_.emit(has_disconnected ? "actor.disconnected" : "actor.unbound", actor->id().text());
  if (!has_disconnected || actor->state != CellState::Ready) return;
  actor->claim([this, actor] { run_disconnect(actor); });
}

// The Actor is claimed, so the Spot it is in is the one that stays until the callback has ended.
void BindingTable::run_disconnect(const Ref<ActorCell>& actor) {
  const Ref<SpotCell> spot = actor->spot();
  push_callback(
      core_, spot->mailbox(),
      {.what = "on_disconnect_actor", .actor = actor.get(), .spot = spot.get()},
      [actor, spot] { return SpotCallbacks::disconnect_actor(*spot->object(), *actor->object()); },
      [actor](const std::optional<Error>&) { actor->release_claim(); });
}

Result<void> BindingTable::relay(const ActorId& id, const BindingIdentity& binding,
                                 Message&& message, std::optional<Instant> deadline,
                                 const std::shared_ptr<ReplyFunction>& reply) {
  const Ref<ActorCell> actor = core_.registry->find_actor(id.text());
  const bool is_here = actor && actor->is_bound_to(binding);
  if (!is_here && core_.remote_bindings->has(binding)) {
    return core_.remote_bindings->relay(binding, message, deadline, reply);
  }
  if (!actor) {
    return fail(Error::unavailable(fmt::format("Actor '{}' is no longer there", id.text())));
  }
  if (!is_here && !runtime::fault_strikes(core_.seams.faults, "binding.take-stale")) {
    core_.metrics.stale_refused.add();
    return fail(Error::invalid_operation(
        fmt::format("{} is no longer bound to this session", actor->name())));
  }
  return core_.router->deliver(*actor, message, deadline, ReplySink(reply));
}

}  // namespace spotmesh::objects

#include "objects/binding_table.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/callback_job.hpp"
#include "objects/core.hpp"
#include "objects/envelope.hpp"
#include "objects/registry.hpp"
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
    if (!actor) return bind_elsewhere(ref, done);
    done(bind_local(*actor, ref, binding));
  });
}

Result<void> BindingTable::bind_local(ActorCell& actor, const ActorRef& ref,
                                      BindingIdentity binding) {
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
  const SessionId session = binding.session;
  const auto former = actor.set_binding(binding);
  core_.emit("actor.bound", actor.id().text(), {{"session", to_string(session)}});
  if (former.has_value() && former->session != session && core_.sessions != nullptr) {
    core_.sessions->on_replaced(*former, actor.ref());
  }
  return {};
}

void BindingTable::bind_elsewhere(const ActorRef& ref, std::function<void(Result<void>)> done) {
  core_.operations->find(
      location::ObjectKey::of(ref.actor_id), core_.now() + limits::default_operation_timeout,
      [ref, done = std::move(done)](const Result<location::FindOutcome>& outcome) {
        if (!outcome) return done(fail(outcome.error()));
        const std::string name = target_name(TargetKind::Actor, ref.actor_id.text());
        if (outcome->standing == location::Standing::Missing) {
          return done(fail(Error::unavailable("nothing to bind to lives under " + name)));
        }
        const ObjectGeneration living = outcome->authority->record.object_generation;
        if (living != ref.object_generation) {
          return done(fail(another_incarnation(ref, living)));
        }
        if (auto error = error_of(*outcome, name)) return done(fail(*std::move(error)));
        done(fail(Error::unavailable(
            fmt::format("{} lives on node {}; binding to Actors of other nodes is not available "
                        "yet",
                        name, outcome->owner->rid.text))));
      });
}

void BindingTable::unbind(const ActorId& id, BindingIdentity binding,
                          std::function<void(Result<void>)> done) {
  core_.strand.post([this, id, binding = std::move(binding), done = std::move(done)] {
    const Ref<ActorCell> actor = core_.registry->find_actor(id.text());
    if (actor && actor->clear_binding(binding)) {
      core_.emit("actor.unbound", id.text());
    } else {
      core_.metrics.stale_refused.add();
    }
    done({});
  });
}

void BindingTable::session_ended(const ActorId& id, BindingIdentity binding) {
  core_.strand.post([this, id, binding = std::move(binding)] {
    const Ref<ActorCell> actor = core_.registry->find_actor(id.text());
    if (actor) end_session(actor, binding);
  });
}

void BindingTable::end_session(const Ref<ActorCell>& actor, const BindingIdentity& binding) {
  if (!actor->clear_binding(binding)) {
    core_.metrics.stale_refused.add();
    return;
  }
  core_.emit("actor.disconnected", actor->id().text());
  if (actor->state != CellState::Ready) return;
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

Result<void> BindingTable::relay(const ActorId& id, const BindingIdentity& binding, Message message,
                                 std::optional<Instant> deadline,
                                 std::function<void(Result<Message>)> reply) {
  const Ref<ActorCell> actor = core_.registry->find_actor(id.text());
  if (!actor) {
    return fail(Error::unavailable(fmt::format("Actor '{}' is no longer there", id.text())));
  }
  if (!actor->is_bound_to(binding) &&
      !runtime::fault_strikes(core_.seams.faults, "binding.take-stale")) {
    core_.metrics.stale_refused.add();
    return fail(Error::invalid_operation(
        fmt::format("{} is no longer bound to this session", actor->name())));
  }
  Envelope envelope{.kind = TargetKind::Actor,
                    .id = id.text(),
                    .message = std::move(message),
                    .deadline = deadline,
                    .reply = reply ? ReplySink(std::move(reply)) : ReplySink()};
  auto delivered = core_.router->deliver(*actor, envelope);
  if (!delivered) envelope.reply.disarm();
  return delivered;
}

}  // namespace spotmesh::objects

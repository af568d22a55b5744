#include "objects/step_down.hpp"

#include "location/keys.hpp"
#include "objects/actor_cell.hpp"
#include "objects/capacity.hpp"
#include "objects/checkpoints.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/farewells.hpp"
#include "objects/joins.hpp"
#include "objects/lease_driver.hpp"
#include "objects/registry.hpp"
#include "objects/remote_sessions.hpp"
#include "objects/spot_cell.hpp"
#include "objects/subscriptions.hpp"

namespace spotmesh::objects {

using runtime::Ref;

void step_down(const Ref<ActorCell>& actor, const Error& reason) {
  if (actor->state == CellState::Gone) return;
  Core& core = actor->core();
  actor->state = CellState::Gone;
  core.registry->remove(*actor);
  core.lease->holdings().remove(location::keys::actor(actor->id()), actor->generation());
  core.capacity->free_actor(actor->mesh());
  actor->timers().close();
  actor->mailbox().abandon(reason);
  actor->spot()->member_count.fetch_sub(1);
  core.joins->stepped_down(*actor, reason);
  actor->give_up_claims();
  core.farewells->begin(actor);
  if (const auto binding = actor->set_binding({}); binding.has_value()) {
    core.emit("actor.unbound", actor->id().text());
    core.remote_sessions->on_actor_gone(*binding, actor->id());
  }
  core.checkpoints->end(*actor);
  core.destructions->stepped_down(*actor, reason);
  core.metrics.stepped_down_objects.add();
  core.log(LogLevel::Warning,
           "this node steps down from " + actor->name() + ": " + reason.message());
  core.emit("actor.stepped_down", actor->id().text(), {{"reason", reason.message()}});
}

void step_down(const Ref<SpotCell>& spot, const Error& reason) {
  if (spot->state == CellState::Gone) return;
  Core& core = spot->core();
  spot->state = CellState::Gone;
  spot->timers().abandon();
  // What waits for the Spot and for its members is refused before their gate drops it.
  spot->mailbox().abandon(reason);
  for (const auto& actor : core.registry->actors()) {
    if (actor->spot() == spot) step_down(actor, reason);
  }
  // A turn of it that is executing may still look at its members.
  spot->gate().abandon([spot] { spot->drop_members(); });
  spot->give_up_claims();
  core.farewells->stepped_down(*spot);
  core.registry->remove(*spot);
  core.subscriptions->end(*spot);
  core.lease->holdings().remove(location::keys::spot(spot->id()), spot->generation());
  if (!spot->is_entry_spot()) core.capacity->free_spot(spot->mesh(), spot->type());
  core.destructions->stepped_down(*spot, reason);
  core.metrics.stepped_down_objects.add();
  core.log(LogLevel::Warning,
           "this node steps down from " + spot->name() + ": " + reason.message());
  core.emit("spot.stepped_down", spot->id().text(), {{"reason", reason.message()}});
}

}  // namespace spotmesh::objects

#include "objects/finding.hpp"

#include <utility>

#include "location/find.hpp"
#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/registry.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

// A record that names this node for something it does not have is about to go.
bool is_usable(const Core& core, const location::FindOutcome& found) {
  return found.is_found() && found.owner->rid != core.identity.rid;
}

}  // namespace

void find_actor(Core& core, const ActorId& id, Instant deadline,
                std::function<void(Result<std::optional<ActorRef>>)> done) {
  if (const auto actor = core.registry->find_actor(id.text())) {
    if (actor->state != CellState::Ready) return done(std::nullopt);
    return done(actor->ref());
  }
  core.operations->find(
      location::ObjectKey::of(id), deadline,
      [&core, id, done = std::move(done)](const Result<location::FindOutcome>& found) {
        if (!found) return done(fail(found.error()));
        if (!is_usable(core, *found)) return done(std::nullopt);
        const location::AuthorityRecord& record = found->authority->record;
        done(ActorRef{id, record.object_generation, record.mesh, found->owner->rid});
      });
}

void find_spot(Core& core, const SpotId& id, Instant deadline,
               std::function<void(Result<std::optional<SpotRef>>)> done) {
  if (const auto spot = core.registry->find_spot(id.text())) {
    if (spot->state != CellState::Ready) return done(std::nullopt);
    return done(spot->ref());
  }
  core.operations->find(
      location::ObjectKey::of(id), deadline,
      [&core, id, done = std::move(done)](const Result<location::FindOutcome>& found) {
        if (!found) return done(fail(found.error()));
        if (!is_usable(core, *found)) return done(std::nullopt);
        const location::AuthorityRecord& record = found->authority->record;
        done(SpotRef{id, record.object_generation, record.mesh, found->owner->rid});
      });
}

void find_spot_of_actor(Core& core, const ActorId& id, Instant deadline,
                        std::function<void(Result<std::optional<SpotRef>>)> done) {
  if (const auto actor = core.registry->find_actor(id.text())) {
    if (actor->state != CellState::Ready) return done(std::nullopt);
    return done(actor->spot()->ref());
  }
  core.operations->find(
      location::ObjectKey::of(id), deadline,
      [&core, done = std::move(done)](const Result<location::FindOutcome>& found) {
        if (!found) return done(fail(found.error()));
        if (!is_usable(core, *found)) return done(std::nullopt);
        const location::AuthorityRecord& record = found->authority->record;
        if (!record.membership.has_value()) return done(std::nullopt);
        done(SpotRef{record.membership->spot, record.membership->spot_generation, record.mesh,
                     found->owner->rid});
      });
}

}  // namespace spotmesh::objects

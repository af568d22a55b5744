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

template <typename Ref>
using Done = std::function<void(Result<std::optional<Ref>>)>;

// `cell` is the object here, if it is here; `here` makes the answer of it, `there` that of a
// record. A node whose lease has run out may have lost to another one what it holds: it asks the
// store, too.
template <typename Ref, typename Cell, typename Here, typename There>
void find_object(Core& core, const location::ObjectKey& object, Instant deadline, const Cell& cell,
                 Here here, There there, Done<Ref> done) {
  if (cell && core.admission.is_open(core.now())) {
    if (cell->state != CellState::Ready) return done(std::nullopt);
    return done(here(*cell));
  }
  core.operations->find(
      object, deadline,
      [&core, cell, name = object.name, here = std::move(here), there = std::move(there),
       done = std::move(done)](const Result<location::FindOutcome>& found) {
        if (!found) return done(fail(found.error()));
        const bool is_own = found->owner && found->owner->rid == core.identity.rid;
        if (is_own) {
          if (auto error = core.not_admitted(name)) return done(fail(*std::move(error)));
        }
        if (!found->is_found()) return done(std::nullopt);
        // Own and not here: its creation has not been told yet that it has succeeded.
        if (!is_own || !cell) return done(there(*found));
        done(cell->state == CellState::Ready ? here(*cell) : std::optional<Ref>());
      });
}

}  // namespace

void find_actor(Core& core, const ActorId& id, Instant deadline, Done<ActorRef> done) {
  find_object<ActorRef>(
      core, location::ObjectKey::of(id), deadline, core.registry->find_actor(id.text()),
      [](const ActorCell& actor) { return actor.ref(); },
      [id](const location::FindOutcome& found) -> std::optional<ActorRef> {
        const location::AuthorityRecord& record = found.authority->record;
        return ActorRef{id, record.object_generation, record.mesh, found.owner->rid};
      },
      std::move(done));
}

void find_spot(Core& core, const SpotId& id, Instant deadline, Done<SpotRef> done) {
  find_object<SpotRef>(
      core, location::ObjectKey::of(id), deadline, core.registry->find_spot(id.text()),
      [](const SpotCell& spot) { return spot.ref(); },
      [id](const location::FindOutcome& found) -> std::optional<SpotRef> {
        const location::AuthorityRecord& record = found.authority->record;
        return SpotRef{id, record.object_generation, record.mesh, found.owner->rid};
      },
      std::move(done));
}

void find_spot_of_actor(Core& core, const ActorId& id, Instant deadline, Done<SpotRef> done) {
  find_object<SpotRef>(
      core, location::ObjectKey::of(id), deadline, core.registry->find_actor(id.text()),
      [](const ActorCell& actor) { return actor.spot()->ref(); },
      [](const location::FindOutcome& found) -> std::optional<SpotRef> {
        const location::AuthorityRecord& record = found.authority->record;
        if (!record.membership.has_value()) return std::nullopt;
        return SpotRef{record.membership->spot, record.membership->spot_generation, record.mesh,
                       found.owner->rid};
      },
      std::move(done));
}

}  // namespace spotmesh::objects

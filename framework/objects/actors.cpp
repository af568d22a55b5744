#include <spotmesh/actors.hpp>

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/find.hpp"
#include "objects/actor_cell.hpp"
#include "objects/caller.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/finding.hpp"
#include "objects/turn_scope.hpp"
#include "objects/waiting.hpp"

namespace spotmesh {

Task<Result<std::optional<ActorRef>>> Actors::find(std::string_view id) {
  using Found = std::optional<ActorRef>;
  auto actor_id = ActorId::parse(id);
  if (!actor_id) return objects::failed<Found>(actor_id.error());
  auto turn = caller_->require_turn(fmt::format("find of Actor '{}'", id));
  if (!turn) return objects::failed<Found>(turn.error());
  objects::Core& core = caller_->core();
  const Instant deadline = (*turn)->now() + limits::default_operation_timeout;
  return objects::on_strand<Found>(
      core, [&core, id = *std::move(actor_id), deadline](std::function<void(Result<Found>)> done) {
        objects::find_actor(core, id, deadline, std::move(done));
      });
}

Task<Result<std::optional<SpotRef>>> Actors::find_spot(std::string_view actor_id) {
  using Found = std::optional<SpotRef>;
  auto id = ActorId::parse(actor_id);
  if (!id) return objects::failed<Found>(id.error());
  auto turn = caller_->require_turn(fmt::format("find_spot of Actor '{}'", actor_id));
  if (!turn) return objects::failed<Found>(turn.error());
  objects::Core& core = caller_->core();
  const Instant deadline = (*turn)->now() + limits::default_operation_timeout;
  return objects::on_strand<Found>(
      core, [&core, id = *std::move(id), deadline](std::function<void(Result<Found>)> done) {
        objects::find_spot_of_actor(core, id, deadline, std::move(done));
      });
}

Task<Result<bool>> Actors::destroy(const ActorRef& actor) {
  const std::string what = fmt::format("destroy of Actor '{}'", actor.actor_id.text());
  auto turn = caller_->require_turn(what);
  if (!turn) return objects::failed<bool>(turn.error());
  const objects::ObjectScope* scope = objects::ObjectScope::current();
  if (scope != nullptr && scope->actor() != nullptr && scope->actor()->id() == actor.actor_id) {
    return objects::failed<bool>(Error::invalid_operation(
        what + " would wait for this very turn; use destroy_actor_after_turn of its Entry Spot"));
  }
  objects::Core& core = caller_->core();
  const Instant deadline = (*turn)->now() + limits::default_operation_timeout;
  return objects::on_strand<bool>(core,
                                  [&core, actor, deadline](std::function<void(Result<bool>)> done) {
                                    core.destructions->destroy(actor, deadline, std::move(done));
                                  });
}

}  // namespace spotmesh

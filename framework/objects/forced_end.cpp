#include "objects/forced_end.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "location/keys.hpp"
#include "location/remove.hpp"
#include "objects/actor_cell.hpp"
#include "objects/checkpoints.hpp"
#include "objects/core.hpp"
#include "objects/object_name.hpp"
#include "objects/reassertions.hpp"
#include "objects/registry.hpp"
#include "objects/step_down.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

using Done = std::function<void(Result<void>)>;

Result<void> result_of(const location::RemoveOutcome& outcome) {
  using Kind = location::RemoveOutcome::Kind;
  if (outcome.kind == Kind::Removed || outcome.kind == Kind::Gone) return {};
  return fail(*outcome.error);
}

}  // namespace

void end_by_force(Core& core, const ActorId& id, Instant deadline, Done done) {
  const auto actor = core.registry->find_actor(id.text());
  if (!actor) {
    return done(fail(Error::not_found(fmt::format("{} does not live on node {}",
                                                  target_name(TargetKind::Actor, id.text()),
                                                  core.identity.rid.text))));
  }
  const std::string what = "end of " + actor->name() + " by an operator";
  if (auto error = core.not_admitted(what)) return done(fail(*std::move(error)));
  location::RemoveRequest request{.what = what,
                                  .key = location::keys::actor(actor->id()),
                                  .generation = actor->generation(),
                                  .version = actor->authority->version(),
                                  .deadline = deadline,
                                  .companions = core.checkpoints->end(*actor)};
  core.log(LogLevel::Warning, fmt::format("an operator ends {}", actor->name()));
  actor->is_record_going = true;
  step_down(actor, Error::unavailable(actor->name() + " has been ended by an operator"));
  // Told once: at the deadline, or when the record has gone.
  const auto told = std::make_shared<Done>(std::move(done));
  const auto tell = [told](Result<void> result) {
    if (const Done first = std::exchange(*told, nullptr)) first(std::move(result));
  };
  const std::string key = request.key;
  core.reassertions->forget(key, [&core, tell, request = std::move(request)]() mutable {
    core.operations->remove(
        std::move(request), [tell](const Error& error) { tell(fail(error)); },
        [tell](const location::RemoveOutcome& outcome) { tell(result_of(outcome)); });
  });
}

}  // namespace spotmesh::objects

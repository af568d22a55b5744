#include <spotmesh/spots.hpp>

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/caller.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/finding.hpp"
#include "objects/registry.hpp"
#include "objects/waiting.hpp"

namespace spotmesh {

Task<Result<std::optional<SpotRef>>> Spots::find(std::string_view id) {
  using Found = std::optional<SpotRef>;
  auto spot_id = SpotId::parse(id);
  if (!spot_id) return objects::failed<Found>(spot_id.error());
  auto turn = caller_->require_turn(fmt::format("find of Spot '{}'", id));
  if (!turn) return objects::failed<Found>(turn.error());
  objects::Core& core = caller_->core();
  const Instant deadline = (*turn)->now() + limits::default_operation_timeout;
  return objects::on_strand<Found>(
      core, [&core, id = *std::move(spot_id), deadline](std::function<void(Result<Found>)> done) {
        objects::find_spot(core, id, deadline, std::move(done));
      });
}

Task<Result<bool>> Spots::close(const SpotRef& spot) {
  const std::string what = fmt::format("close of Spot '{}'", spot.spot_id.text());
  auto turn = caller_->require_turn(what);
  if (!turn) return objects::failed<bool>(turn.error());
  objects::Core& core = caller_->core();
  const auto cell = core.registry->find_spot(spot.spot_id.text());
  if (cell && cell->mailbox().runs_on((*turn)->gate())) {
    return objects::failed<bool>(
        Error::invalid_operation(what + " would wait for this very turn; use close_when_empty"));
  }
  const Instant deadline = (*turn)->now() + limits::default_operation_timeout;
  return objects::on_strand<bool>(core,
                                  [&core, spot, deadline](std::function<void(Result<bool>)> done) {
                                    core.destructions->close(spot, deadline, std::move(done));
                                  });
}

}  // namespace spotmesh

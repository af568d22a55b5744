#include "testing/checkers/bounds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "node/node.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::testing {

void BoundsChecker::on_turn_started(const SimNode& node, const runtime::Gate&,
                                    const runtime::Mailbox& mailbox, Instant) {
  const auto backlog = mailbox.backlog();
  if (backlog.application > limits::mailbox_application_jobs ||
      backlog.control > limits::mailbox_control_jobs) {
    complain(fmt::format("a mailbox of {} holds {} messages and {} control jobs", node.name(),
                         backlog.application, backlog.control));
  }
  if (turns_++ % look_every_turns != 0) return;
  const auto process = std::ranges::find(run_.processes, &node, &LiveProcess::seams);
  if (process != run_.processes.end()) look_at(*process);
}

void BoundsChecker::look_at(const LiveProcess& process) {
  const objects::Core& core = process.node->objects().core();
  const std::int64_t waiting = core.metrics.requests_in_flight.value();
  if (waiting < 0 || waiting > static_cast<std::int64_t>(core.config.requests_in_flight)) {
    complain(fmt::format("{} counts {} requests in flight", process.name(), waiting));
  }
  for (const auto& [mesh, entry_spot] : core.entry_spots) {
    const auto actors = core.capacity->actors(*mesh);
    const auto spots = core.capacity->spots(*mesh);
    const auto is_over = [](const objects::Capacity::Usage& usage, std::uint32_t limit) {
      return limit != 0 && usage.total() > limit;
    };
    if (actors.pending + spots.pending > mesh->server->pending_limit ||
        is_over(actors, mesh->server->actor_limit) || is_over(spots, mesh->server->spot_limit)) {
      complain(fmt::format("{} has {}+{} Actors and {}+{} Spots, past its limits", process.name(),
                           actors.active, actors.pending, spots.active, spots.pending));
    }
  }
}

}  // namespace spotmesh::testing

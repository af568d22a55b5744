#include "testing/checkers/admission.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "node/node.hpp"
#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/spot_cell.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::testing {

void AdmissionChecker::see(const SimNode& node, const runtime::Mailbox& mailbox, Instant now) {
  const auto process = std::ranges::find(run_.processes, &node, &LiveProcess::seams);
  if (process == run_.processes.end()) return;
  const Instant deadline = process->node->objects().core().admission.deadline();
  if (now < deadline) return;
  std::string name;
  if (const auto* actor = dynamic_cast<const objects::ActorCell*>(&mailbox.owner())) {
    name = actor->name();
  } else if (const auto* spot = dynamic_cast<const objects::SpotCell*>(&mailbox.owner())) {
    name = spot->name();
  } else {
    return;  // sessions live without a lease
  }
  complain(
      fmt::format("{} runs a turn of {} {} ms past its admission deadline", node.name(), name,
                  std::chrono::duration_cast<std::chrono::milliseconds>(now - deadline).count()));
}

}  // namespace spotmesh::testing

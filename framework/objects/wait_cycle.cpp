#include "objects/wait_cycle.hpp"

#include <fmt/format.h>

#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/message_job.hpp"
#include "objects/registry.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {
namespace {

bool has_request_of(const runtime::Mailbox& mailbox, const ObjectName& sender) {
  return mailbox.has_waiting([&sender](const runtime::Job& job) {
    const auto* message = dynamic_cast<const MessageJob*>(&job);
    return message != nullptr && message->asker() == sender;
  });
}

// The object for whose sake the mailbox of `asker`, or of the Spot on whose gate it waits, stands
// still.
bool holds_up(const Core& core, const ObjectName& asker, const ObjectName& sender) {
  if (asker.kind == TargetKind::Spot) {
    const auto spot = core.registry->find_spot(asker.id);
    return spot && has_request_of(spot->mailbox(), sender);
  }
  const auto actor = core.registry->find_actor(asker.id);
  if (!actor) return false;
  if (has_request_of(actor->mailbox(), sender)) return true;
  const auto spot = actor->spot();
  return spot && spot->shares_gate() && has_request_of(spot->mailbox(), sender);
}

}  // namespace

std::string describe_cycle(const Core& core, const ObjectName& asker, const ObjectName& target) {
  if (!holds_up(core, asker, target)) return {};
  return fmt::format(
      "; {} and {} wait for each other: a request of the latter stands in the "
      "former's mailbox",
      to_string(asker), to_string(target));
}

}  // namespace spotmesh::objects

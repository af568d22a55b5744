#include "testing/checkers/nothing_pending.hpp"

#include <fmt/format.h>

#include "node/node.hpp"
#include "objects/core.hpp"
#include "objects/creations.hpp"
#include "objects/joins.hpp"
#include "objects/registry.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::testing {

void NothingPendingChecker::look_at_rest() {
  for (const LiveProcess& process : run_.processes) {
    if (process.is_serving()) look_at(process);
  }
}

void NothingPendingChecker::look_at(const LiveProcess& process) {
  const objects::Core& core = process.node->objects().core();
  if (const auto waiting = core.metrics.requests_in_flight.value(); waiting != 0) {
    complain(fmt::format("{} requests of {} are unanswered", waiting, process.name()));
  }
  if (const auto under_way = core.creations->under_way(); under_way != 0) {
    complain(fmt::format("{} creations of {} have not ended", under_way, process.name()));
  }
  if (const auto under_way = core.joins->under_way(); under_way != 0) {
    complain(fmt::format("{} Joins of {} have not ended", under_way, process.name()));
  }
  for (const auto& actor : core.registry->actors()) {
    check_mailbox(process, actor->name(), actor->mailbox());
    if (actor->is_in_transition()) {
      complain(
          fmt::format("{} at {} is still about to move or to end", actor->name(), process.name()));
    }
  }
  for (const auto& spot : core.registry->spots()) {
    check_mailbox(process, spot->name(), spot->mailbox());
    if (spot->transitions != 0) {
      complain(fmt::format("{} at {} still waits for {} Joins and departures", spot->name(),
                           process.name(), spot->transitions));
    }
  }
}

void NothingPendingChecker::check_mailbox(const LiveProcess& process, const std::string& name,
                                          const runtime::Mailbox& mailbox) {
  const auto backlog = mailbox.backlog();
  if (backlog.application == 0 && backlog.control == 0 && !backlog.is_running && !backlog.is_held &&
      !backlog.is_claimed) {
    return;
  }
  complain(fmt::format("{} at {} has {} messages and {} control jobs waiting{}{}{}", name,
                       process.name(), backlog.application, backlog.control,
                       backlog.is_running ? ", a turn in progress" : "",
                       backlog.is_held ? ", a hold" : "", backlog.is_claimed ? ", a claim" : ""));
}

}  // namespace spotmesh::testing

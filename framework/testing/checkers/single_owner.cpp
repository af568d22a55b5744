#include "testing/checkers/single_owner.hpp"

#include <fmt/format.h>

#include "objects/actor_cell.hpp"
#include "objects/spot_cell.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::testing {

void SingleOwnerChecker::see(const SimNode& node, const runtime::Mailbox& mailbox) {
  std::string name;
  Runner runner{.generation = {}, .process = &node};
  if (const auto* actor = dynamic_cast<const objects::ActorCell*>(&mailbox.owner())) {
    name = actor->name();
    runner.generation = actor->generation();
  } else if (const auto* spot = dynamic_cast<const objects::SpotCell*>(&mailbox.owner())) {
    name = spot->name();
    runner.generation = spot->generation();
  } else {
    return;  // a session, which no other process can have
  }
  const auto [found, is_new] = by_id_.try_emplace(std::move(name), History{runner, {}});
  History& history = found->second;
  if (is_new || history.present == runner) return;
  if (history.former.contains(runner)) {
    complain(fmt::format("{} runs a turn of {}, generation {}, after {} has run generation {}",
                         node.name(), found->first, runner.generation.value,
                         history.present.process->name(), history.present.generation.value));
    return;
  }
  history.former.insert(history.present);
  history.present = runner;
}

}  // namespace spotmesh::testing

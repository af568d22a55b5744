#include "testing/checkers/leftovers.hpp"

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/records.hpp"
#include "node/node.hpp"
#include "testing/sim_store.hpp"

namespace spotmesh::testing {

void LeftoversChecker::look_at_rest() {
  for (const LiveProcess& process : run_.processes) {
    if (process.node->state() != node::NodeState::Stopped) continue;
    for (const auto prefix : {location::keys::actor_prefix, location::keys::spot_prefix}) {
      for (const auto& entry : run_.store->contents(prefix)) {
        const auto record = location::decode_authority(entry.key, entry.stored.value);
        if (!record || record->state == location::AuthorityState::Vacant) continue;
        if (record->owner.rid != process.node->identity().rid) continue;
        complain(fmt::format("{} has stopped and left {}", process.name(),
                             location::keys::printable(entry.key)));
      }
    }
  }
}

}  // namespace spotmesh::testing

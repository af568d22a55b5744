#include "testing/checkers/membership.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/records.hpp"
#include "node/node.hpp"
#include "objects/core.hpp"
#include "objects/registry.hpp"
#include "testing/sim_node.hpp"
#include "testing/sim_store.hpp"

namespace spotmesh::testing {
namespace {

namespace keys = location::keys;

}  // namespace

void MembershipChecker::look_at_rest() {
  for (const LiveProcess& process : run_.processes) {
    if (process.is_serving()) look_at(process);
  }
}

void MembershipChecker::look_at(const LiveProcess& process) {
  const objects::Core& core = process.node->objects().core();
  for (const auto& actor : core.registry->actors()) check_actor(process, *actor);
  for (const auto& spot : core.registry->spots()) check_spot(process, core, *spot);
}

void MembershipChecker::check_actor(const LiveProcess& process, const objects::ActorCell& actor) {
  const auto spot = actor.spot();
  const std::string key = keys::actor(actor.id());
  const Bytes* value = run_.store->peek(key);
  if (value == nullptr) {
    return complain(fmt::format("{} lives at {} without a record", actor.name(), process.name()));
  }
  const auto record = location::decode_authority(key, *value);
  if (!record) return;
  if (record->object_generation != actor.generation()) {
    complain(fmt::format("{} at {} is generation {}, its record says {}", actor.name(),
                         process.name(), actor.generation().value,
                         record->object_generation.value));
  }
  if (!spot || !record->membership || record->membership->spot != spot->id() ||
      record->membership->spot_generation != spot->generation()) {
    complain(fmt::format("{} at {} is in {}, its record says '{}'", actor.name(), process.name(),
                         spot ? spot->name() : "no Spot",
                         record->membership ? record->membership->spot.text() : ""));
  }
}

void MembershipChecker::check_spot(const LiveProcess& process, const objects::Core& core,
                                   const objects::SpotCell& spot) {
  std::size_t inside = 0;
  for (const auto& actor : core.registry->actors()) {
    if (actor->spot().get() != &spot) continue;
    ++inside;
    if (!spot.shares_gate()) continue;
    const bool is_listed = std::ranges::any_of(
        spot.members(), [&](const auto& member) { return member.get() == actor.get(); });
    if (!is_listed) {
      complain(fmt::format("{} at {} does not list its member {}", spot.name(), process.name(),
                           actor->name()));
    }
  }
  if (spot.shares_gate() && spot.members().size() != inside) {
    complain(fmt::format("{} at {} lists {} members, and {} are in it", spot.name(), process.name(),
                         spot.members().size(), inside));
  }
  if (spot.member_count.load() != inside) {
    complain(fmt::format("{} at {} counts {} members, and {} are in it", spot.name(),
                         process.name(), spot.member_count.load(), inside));
  }
}

}  // namespace spotmesh::testing

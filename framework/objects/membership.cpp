#include "objects/membership.hpp"

#include <fmt/format.h>

#include "location/keys.hpp"
#include "objects/actor_cell.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {

location::Membership membership_in(const SpotCell& spot) {
  return {.spot = spot.id(),
          .spot_generation = spot.generation(),
          .spot_owner_generation_at_join = spot.authority->record.owner_generation,
          .owner_follows_spot = spot.shares_gate()};
}

location::AuthorityRecord moved_record(const ActorCell& actor, const SpotCell& former,
                                       const SpotCell& target) {
  location::AuthorityRecord record = actor.authority->record();
  if (record.membership.has_value() && record.membership->owner_follows_spot) {
    record.owner_generation.value += former.authority->record.owner_generation.value -
                                     record.membership->spot_owner_generation_at_join.value;
  }
  record.membership = membership_in(target);
  return record;
}

location::Commit membership_commit(const location::LeaseView& lease, const ActorCell& actor,
                                   const SpotCell& former, const SpotCell& target,
                                   const location::AuthorityRecord& moved) {
  location::Commit commit = location::write_object(lease, location::keys::actor(actor.id()),
                                                   actor.authority->version(), moved);
  commit.conditions.push_back({location::keys::spot(former.id()), former.authority->version});
  commit.conditions.push_back({location::keys::spot(target.id()), target.authority->version});
  return commit;
}

Error membership_conflict(const std::string& failed_key, const ActorCell& actor,
                          const SpotCell& target, const std::string& what) {
  if (failed_key == location::keys::actor(actor.id())) {
    return Error::invalid_operation(
        fmt::format("{}: the store shows another state of {}", what, actor.name()));
  }
  if (failed_key == location::keys::spot(target.id())) {
    return Error::invalid_operation(
        fmt::format("{}: the store shows another state of {}", what, target.name()));
  }
  return Error::unavailable(fmt::format("{}: this node's hold on '{}' is lost", what,
                                        location::keys::printable(failed_key)));
}

}  // namespace spotmesh::objects

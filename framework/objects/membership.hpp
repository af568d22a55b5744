// What a change of membership on one node writes to the store.
#pragma once

#include <string>

#include <spotmesh/error.hpp>

#include "location/authority.hpp"
#include "location/lease_view.hpp"
#include "location/records.hpp"

namespace spotmesh::objects {

class ActorCell;
class SpotCell;

// The membership that an Actor has in a Spot.
location::Membership membership_in(const SpotCell& spot);

// The Actor's record after the change. Its owner stays, so its owner generation stays: at most it
// takes over what the former Spot's has grown by.
location::AuthorityRecord moved_record(const ActorCell& actor, const SpotCell& former,
                                       const SpotCell& target);

// One commit under this node's lease, conditional on the Actor's record and on those of the Spots
// it leaves and enters.
location::Commit membership_commit(const location::LeaseView& lease, const ActorCell& actor,
                                   const SpotCell& former, const SpotCell& target,
                                   const location::AuthorityRecord& moved);

// What the failed condition of that commit means for the Join.
Error membership_conflict(const std::string& failed_key, const ActorCell& actor,
                          const SpotCell& target, const std::string& what);

}  // namespace spotmesh::objects

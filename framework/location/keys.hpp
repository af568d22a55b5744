// Where everything of the runtime stands in the Location Store. The id is always the last part of a
// key and stands there byte for byte, so any UTF-8 is safe without escaping and two ids never share
// a key. A deployment's own prefix, where a provider has one, is the provider's business.
#pragma once

#include <string>
#include <string_view>

#include <spotmesh/ids.hpp>

#include "location/store.hpp"

namespace spotmesh::location {

struct OwnerIdTag {
  static constexpr std::string_view name = "OwnerId";
};
// Who holds a lease. A node uses its RID, which is new at each start, so that no two runs share a
// lease key.
using OwnerId = StringId<OwnerIdTag>;

namespace keys {

// Every key of the runtime begins so; watch() it to hear of all changes.
inline constexpr std::string_view all_prefix = "spotmesh/";
inline constexpr std::string_view lease_prefix = "spotmesh/lease/";
inline constexpr std::string_view beat_prefix = "spotmesh/beat/";
inline constexpr std::string_view node_prefix = "spotmesh/node/";
inline constexpr std::string_view actor_prefix = "spotmesh/actor/";
inline constexpr std::string_view checkpoint_prefix = "spotmesh/checkpoint/";
inline constexpr std::string_view spot_prefix = "spotmesh/spot/";

static_assert(node_prefix.size() + max_id_bytes <= max_store_key_bytes);
static_assert(actor_prefix.size() + max_id_bytes <= max_store_key_bytes);
static_assert(lease_prefix.size() + max_id_bytes <= max_store_key_bytes);

// LeaseRecord: written when a lease is acquired, re-asserted or fenced, never by a renewal.
std::string lease(const OwnerId& owner);
// BeatRecord: written by every renewal.
std::string beat(const OwnerId& owner);
// LeaseCounterRecord: one for the whole store.
std::string lease_counter();
// NodeDescriptor.
std::string node(const NodeRid& rid);
// CheckpointRecord of an Actor.
std::string checkpoint(const ActorId& id);
// AuthorityRecord of an Actor, and of a Spot of any kind.
std::string actor(const ActorId& id);
std::string spot(const SpotId& id);

// The key as it may stand in a log or an error: control characters and bytes that are not UTF-8 are
// escaped.
std::string printable(std::string_view key);

}  // namespace keys
}  // namespace spotmesh::location

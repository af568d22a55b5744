// The checkpoint of an Actor: the last state that its owner has put down, for whoever takes over.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "location/authority.hpp"
#include "location/store.hpp"

namespace spotmesh::location {

// It stands beside the authority record and outlives it when the owner is lost; only the end of
// the Actor itself deletes it, in the commit that ends the record.
struct CheckpointRecord {
  StableType stable_type;
  ObjectGeneration object_generation;  // of the incarnation whose state it is
  std::uint64_t sequence = 0;          // of that incarnation's checkpoints
  Bytes state;                         // as the adapter captured it
  friend bool operator==(const CheckpointRecord&, const CheckpointRecord&) = default;
};

Bytes encode(const CheckpointRecord& record);
Result<CheckpointRecord> decode_checkpoint(std::string_view key, ByteView value);

// Puts `checkpoint` down under this owner's lease, on condition of the Actor's authority, of the
// Spot's whose member it is, and of the checkpoint it replaces (empty: none): a former owner's,
// however late, is refused.
Commit write_checkpoint(const LeaseView& lease, const ActorId& id,
                        const VersionedAuthority& authority, const Condition& spot,
                        const std::optional<StoreVersion>& before,
                        const CheckpointRecord& checkpoint);

}  // namespace spotmesh::location

// OwnerStamp: who wrote a record.
#pragma once

#include <spotmesh/ids.hpp>

#include "location/keys.hpp"

namespace spotmesh::location {

// One process run as an owner of objects. A record that carries it is its owner's as long as the
// lease of `owner` stands live with this generation.
struct OwnerStamp {
  OwnerId owner;
  LeaseGeneration lease_generation;
  NodeRid rid;
  LifecycleId lifecycle;
  friend bool operator==(const OwnerStamp&, const OwnerStamp&) = default;
};

}  // namespace spotmesh::location

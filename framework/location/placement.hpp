// Placement: which node makes a new object. Who asks for one has no say in it.
#pragma once

#include <span>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "base/random.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

struct PlacementRequest {
  std::string_view mesh;
  ObjectKind kind = ObjectKind::Actor;  // or UserSpot
  const StableType& type;
};

// Of `nodes`, those that serve objects of the mesh, offer the type there with a weight above 0 and
// have room for one more, each as likely as its weight says. What the descriptors say of room are
// hints: the node that is chosen may still refuse. Unavailable: none offers it. CapacityExceeded:
// all that offer it are full.
Result<const NodeDescriptor*> choose_place(std::span<const NodeDescriptor* const> nodes,
                                           const PlacementRequest& request, Random& random);

// Whether one more object of that kind and type finds room, as far as the hints tell.
bool has_room(const MeshPart& part, ObjectKind kind, const StableType& type);

}  // namespace spotmesh::location

// Placing: chooses the node that makes one new object, and another when the first cannot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "location/node_descriptor.hpp"
#include "location/records.hpp"
#include "objects/frozen_application.hpp"

namespace spotmesh::objects {

class Capacity;
class Core;

// What this node says of itself in one mesh.
location::MeshPart part_in(const Core& core, const MeshTypes& mesh);

// Strand only.
class Placing {
 public:
  // Nothing: this node.
  using Place = std::optional<location::OwnerStamp>;

  Placing(Core& core, const MeshTypes& mesh, location::ObjectKind kind, StableType type)
      : core_(core), mesh_(mesh), kind_(kind), type_(std::move(type)) {}

  // Of the nodes that have not turned it away. When there is none left: CapacityExceeded if one of
  // them was full, else what the last one said.
  Result<Place> choose() const;
  // That node has no room after all, or does not do it. Nothing was reserved there.
  void turn_away(const NodeRid& node, Error error);
  bool was_turned_away() const { return !turned_away_.empty(); }

 private:
  Core& core_;
  const MeshTypes& mesh_;
  const location::ObjectKind kind_;
  const StableType type_;
  std::vector<std::pair<NodeRid, Error>> turned_away_;
};

}  // namespace spotmesh::objects

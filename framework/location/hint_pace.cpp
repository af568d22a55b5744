#include "location/hint_pace.hpp"

#include <algorithm>
#include <cstdint>

#include "location/placement.hpp"

namespace spotmesh::location {
namespace {

// The descriptor without what are only hints.
NodeDescriptor without_hints(NodeDescriptor node) {
  for (MeshPart& part : node.meshes) {
    part.actors = {};
    part.spots = {};
    for (SpotTypeHint& type : part.spot_types) type.taken = 0;
  }
  return node;
}

bool is_much(std::uint64_t before, std::uint64_t after, std::uint64_t limit) {
  const std::uint64_t difference = before > after ? before - after : after - before;
  return limit != 0 && difference >= std::max<std::uint64_t>(limit / 8, 1);
}

bool is_much(const MeshPart& before, const MeshPart& after) {
  const auto taken = [](const CapacityHint& hint) { return hint.active + hint.pending; };
  const auto pending = [](const MeshPart& part) {
    return part.actors.pending + part.spots.pending;
  };
  if (is_much(pending(before), pending(after), after.pending_limit)) return true;
  if (is_much(taken(before.actors), taken(after.actors), after.actors.limit)) return true;
  if (is_much(taken(before.spots), taken(after.spots), after.spots.limit)) return true;
  for (std::size_t i = 0; i < after.spot_types.size(); ++i) {
    const SpotTypeHint& type = after.spot_types[i];
    if (is_much(before.spot_types[i].taken, type.taken, type.limit)) return true;
  }
  return false;
}

bool is_full_otherwise(const MeshPart& before, const MeshPart& after) {
  const auto differs = [&](ObjectKind kind, const StableType& type) {
    return has_room(before, kind, type) != has_room(after, kind, type);
  };
  return std::ranges::any_of(
             after.actor_types,
             [&](const StableType& type) { return differs(ObjectKind::Actor, type); }) ||
         std::ranges::any_of(after.spot_types, [&](const SpotTypeHint& type) {
           return differs(ObjectKind::UserSpot, type.name);
         });
}

}  // namespace

std::optional<Duration> hint_pace(const NodeDescriptor& written, const NodeDescriptor& wanted) {
  if (written == wanted) return std::nullopt;
  if (without_hints(written) != without_hints(wanted)) return Duration::zero();
  Duration pace = pace_of_any;
  for (std::size_t i = 0; i < wanted.meshes.size(); ++i) {
    const MeshPart& before = written.meshes[i];
    const MeshPart& after = wanted.meshes[i];
    if (is_full_otherwise(before, after)) return pace_of_full;
    if (is_much(before, after)) pace = pace_of_much;
  }
  return pace;
}

}  // namespace spotmesh::location

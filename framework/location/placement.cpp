#include "location/placement.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace spotmesh::location {
namespace {

bool is_full(std::uint64_t taken, std::uint64_t limit) { return limit != 0 && taken >= limit; }

bool is_full(const CapacityHint& hint) { return is_full(hint.active + hint.pending, hint.limit); }

const SpotTypeHint* find_type(const MeshPart& part, const StableType& type) {
  const auto found = std::ranges::find(part.spot_types, type, &SpotTypeHint::name);
  return found == part.spot_types.end() ? nullptr : &*found;
}

bool offers(const MeshPart& part, const PlacementRequest& request) {
  if (request.kind != ObjectKind::Actor) return find_type(part, request.type) != nullptr;
  return std::ranges::find(part.actor_types, request.type) != part.actor_types.end();
}

std::string_view noun(ObjectKind kind) { return kind == ObjectKind::Actor ? "Actor" : "Spot"; }

}  // namespace

bool has_room(const MeshPart& part, ObjectKind kind, const StableType& type) {
  if (part.actors.pending + part.spots.pending >= part.pending_limit) return false;
  if (kind == ObjectKind::Actor) return !is_full(part.actors);
  const SpotTypeHint* of_type = find_type(part, type);
  return !is_full(part.spots) && of_type != nullptr && !is_full(of_type->taken, of_type->limit);
}

Result<const NodeDescriptor*> choose_place(std::span<const NodeDescriptor* const> nodes,
                                           const PlacementRequest& request, Random& random) {
  std::size_t full = 0;
  std::uint64_t total = 0;
  std::vector<std::pair<const NodeDescriptor*, std::uint64_t>> candidates;
  for (const NodeDescriptor* node : nodes) {
    const MeshPart* part = node->find_mesh(request.mesh);
    if (node->state != HostState::Serving || part == nullptr || !part->is_object_server) continue;
    if (part->weight == 0 || !offers(*part, request)) continue;
    if (!has_room(*part, request.kind, request.type)) {
      ++full;
      continue;
    }
    total += part->weight;
    candidates.emplace_back(node, total);
  }
  if (!candidates.empty()) {
    const std::uint64_t point = random_below(random, total);
    return std::ranges::find_if(candidates, [&](const auto& each) { return point < each.second; })
        ->first;
  }
  if (full > 0) {
    return fail(Error::capacity_exceeded(
        fmt::format("mesh '{}': all nodes that serve {} type '{}', {} of them, are full",
                    request.mesh, noun(request.kind), request.type.text(), full)));
  }
  return fail(Error::unavailable(
      fmt::format("no serving node of mesh '{}' takes new objects of {} type '{}'", request.mesh,
                  noun(request.kind), request.type.text())));
}

}  // namespace spotmesh::location

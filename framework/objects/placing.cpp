#include "objects/placing.hpp"

#include <algorithm>

#include "location/placement.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {
namespace {

location::CapacityHint hint(const Capacity::Usage& usage, std::uint64_t limit) {
  return {.active = usage.active, .pending = usage.pending, .limit = limit};
}

}  // namespace

location::MeshPart part_in(const Core& core, const MeshTypes& mesh) {
  const Capacity& capacity = *core.capacity;
  location::MeshPart part;
  part.mesh = mesh.name;
  part.is_object_client = mesh.is_object_client;
  if (mesh.server == nullptr) return part;
  part.is_object_server = true;
  part.weight = mesh.server->placement_weight;
  part.pending_limit = mesh.server->pending_limit;
  part.actors = hint(capacity.actors(mesh), mesh.server->actor_limit);
  part.spots = hint(capacity.spots(mesh), mesh.server->spot_limit);
  // Without an Entry Spot, which it may have stepped down from, no Actor can begin here.
  if (core.ready_entry_spot(mesh)) {
    for (const auto& [name, type] : mesh.actors) part.actor_types.push_back(type.name);
  }
  for (const auto& [name, type] : mesh.spots) {
    part.spot_types.push_back(
        {*StableType::parse(name), capacity.spots(type).total(), type.model->limit});
  }
  return part;
}

Result<Placing::Place> Placing::choose() const {
  const auto has_turned_away = [this](const NodeRid& node) {
    return std::ranges::find(turned_away_, node, &std::pair<NodeRid, Error>::first) !=
           turned_away_.end();
  };
  auto nodes = core_.directory->reachable();
  std::erase_if(nodes, [&](const auto* node) { return has_turned_away(node->stamp.rid); });
  const location::NodeDescriptor own{.stamp = *core_.lease->view().stamp,
                                     .is_stream_gateway = false,
                                     .application_version = {},
                                     .state = location::HostState::Serving,
                                     .advertised_address = {},
                                     .meshes = {part_in(core_, mesh_)}};
  if (!core_.is_draining()) nodes.push_back(&own);
  const auto chosen = location::choose_place(
      nodes, {.mesh = mesh_.name, .kind = kind_, .type = type_}, core_.seams.random);
  if (chosen) return *chosen == &own ? Place() : Place((*chosen)->stamp);
  if (turned_away_.empty()) return fail(chosen.error());
  const auto full = std::ranges::find_if(turned_away_, [](const auto& each) {
    return each.second.kind() == ErrorKind::CapacityExceeded;
  });
  if (full != turned_away_.end()) return fail(full->second);
  if (chosen.error().kind() == ErrorKind::CapacityExceeded) return fail(chosen.error());
  return fail(turned_away_.back().second);
}

void Placing::turn_away(const NodeRid& node, Error error) {
  turned_away_.emplace_back(node, std::move(error));
}

}  // namespace spotmesh::objects

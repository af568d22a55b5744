#include "testing/checkers/capacity.hpp"

#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "node/node.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "objects/registry.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::testing {

void CapacityChecker::look_at_rest() {
  for (const LiveProcess& process : run_.processes) {
    if (process.is_serving()) look_at(process);
  }
}

void CapacityChecker::look_at(const LiveProcess& process) {
  const objects::Core& core = process.node->objects().core();
  std::map<const objects::MeshTypes*, std::uint64_t> actors;
  std::map<const objects::MeshTypes*, std::uint64_t> spots;
  std::map<const objects::SpotType*, std::uint64_t> spots_of_type;
  for (const auto& actor : core.registry->actors()) ++actors[&actor->mesh()];
  for (const auto& spot : core.registry->spots()) {
    if (spot->is_entry_spot()) continue;  // it comes and goes with its node, and is not counted
    ++spots[&spot->mesh()];
    ++spots_of_type[&spot->type()];
  }
  const auto compare = [&](std::string_view what, std::string_view where, std::uint64_t living,
                           const objects::Capacity::Usage& usage) {
    if (usage.active == living && usage.pending == 0) return;
    complain(fmt::format("{} counts {} {} and {} pending in {}, but {} live there", process.name(),
                         usage.active, what, usage.pending, where, living));
  };
  for (const auto& [mesh, entry_spot] : core.entry_spots) {
    compare("Actors", "mesh " + mesh->name, actors[mesh], core.capacity->actors(*mesh));
    compare("Spots", "mesh " + mesh->name, spots[mesh], core.capacity->spots(*mesh));
    for (const auto& [name, type] : mesh->spots) {
      compare("Spots", "type " + name, spots_of_type[&type], core.capacity->spots(type));
    }
  }
}

}  // namespace spotmesh::testing

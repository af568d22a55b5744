#include "objects/capacity.hpp"

#include <fmt/format.h>

namespace spotmesh::objects {
namespace {

bool is_full(const Capacity::Usage& usage, std::uint32_t limit) {
  return limit != 0 && usage.total() >= limit;
}

void activate(Capacity::Usage& usage) {
  --usage.pending;
  ++usage.active;
}

}  // namespace

Result<void> Capacity::check_pending(const MeshTypes& mesh) const {
  const std::uint64_t pending = actors(mesh).pending + spots(mesh).pending;
  if (pending < mesh.server->pending_limit) return {};
  return fail(Error::capacity_exceeded(
      fmt::format("mesh '{}': {} creations are under way on this node, which is the limit",
                  mesh.name, mesh.server->pending_limit)));
}

Result<void> Capacity::take_actor(const MeshTypes& mesh) {
  if (auto free = check_pending(mesh); !free) return free;
  Usage& usage = meshes_[&mesh].actors;
  if (is_full(usage, mesh.server->actor_limit)) {
    return fail(Error::capacity_exceeded(fmt::format("mesh '{}': this node has its {} Actors",
                                                     mesh.name, mesh.server->actor_limit)));
  }
  ++usage.pending;
  tell();
  return {};
}

void Capacity::activate_actor(const MeshTypes& mesh) {
  activate(meshes_[&mesh].actors);
  tell();
}

void Capacity::free_pending_actor(const MeshTypes& mesh) {
  --meshes_[&mesh].actors.pending;
  tell();
}

void Capacity::free_actor(const MeshTypes& mesh) {
  --meshes_[&mesh].actors.active;
  tell();
}

Result<void> Capacity::take_spot(const MeshTypes& mesh, const SpotType& type) {
  if (auto free = check_pending(mesh); !free) return free;
  Usage& usage = meshes_[&mesh].spots;
  Usage& of_type = types_[&type];
  if (is_full(usage, mesh.server->spot_limit)) {
    return fail(Error::capacity_exceeded(
        fmt::format("mesh '{}': this node has its {} Spots", mesh.name, mesh.server->spot_limit)));
  }
  if (is_full(of_type, type.model->limit)) {
    return fail(
        Error::capacity_exceeded(fmt::format("mesh '{}': this node has its {} Spots of "
                                             "type '{}'",
                                             mesh.name, type.model->limit, type.name)));
  }
  ++usage.pending;
  ++of_type.pending;
  tell();
  return {};
}

void Capacity::activate_spot(const MeshTypes& mesh, const SpotType& type) {
  activate(meshes_[&mesh].spots);
  activate(types_[&type]);
  tell();
}

void Capacity::free_pending_spot(const MeshTypes& mesh, const SpotType& type) {
  --meshes_[&mesh].spots.pending;
  --types_[&type].pending;
  tell();
}

void Capacity::free_spot(const MeshTypes& mesh, const SpotType& type) {
  --meshes_[&mesh].spots.active;
  --types_[&type].active;
  tell();
}

Capacity::Usage Capacity::actors(const MeshTypes& mesh) const {
  const auto found = meshes_.find(&mesh);
  return found == meshes_.end() ? Usage() : found->second.actors;
}

Capacity::Usage Capacity::spots(const MeshTypes& mesh) const {
  const auto found = meshes_.find(&mesh);
  return found == meshes_.end() ? Usage() : found->second.spots;
}

Capacity::Usage Capacity::spots(const SpotType& type) const {
  const auto found = types_.find(&type);
  return found == types_.end() ? Usage() : found->second;
}

}  // namespace spotmesh::objects

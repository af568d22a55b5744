// Capacity: how many objects this node has and has pending, against its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include <spotmesh/error.hpp>

#include "objects/frozen_application.hpp"

namespace spotmesh::objects {

// A slot is taken as pending, and then either freed or made active and freed later. Strand only.
class Capacity {
 public:
  struct Usage {
    std::uint64_t active = 0;
    std::uint64_t pending = 0;
    std::uint64_t total() const { return active + pending; }
  };

  // Told after every change.
  void on_changed(std::function<void()> told) { told_ = std::move(told); }

  // CapacityExceeded past the Actor limit or the pending limit of the mesh.
  Result<void> take_actor(const MeshTypes& mesh);
  void activate_actor(const MeshTypes& mesh);
  void free_pending_actor(const MeshTypes& mesh);
  void free_actor(const MeshTypes& mesh);

  // CapacityExceeded past the Spot limit, the type's own limit or the pending limit of the mesh.
  Result<void> take_spot(const MeshTypes& mesh, const SpotType& type);
  void activate_spot(const MeshTypes& mesh, const SpotType& type);
  void free_pending_spot(const MeshTypes& mesh, const SpotType& type);
  void free_spot(const MeshTypes& mesh, const SpotType& type);

  Usage actors(const MeshTypes& mesh) const;
  Usage spots(const MeshTypes& mesh) const;
  Usage spots(const SpotType& type) const;

 private:
  struct MeshUsage {
    Usage actors;
    Usage spots;
  };
  Result<void> check_pending(const MeshTypes& mesh) const;
  void tell() const {
    if (told_) told_();
  }

  std::map<const MeshTypes*, MeshUsage> meshes_;
  std::map<const SpotType*, Usage> types_;
  std::function<void()> told_;
};

}  // namespace spotmesh::objects

// NodeDescriptor: what a node tells the others about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/ids.hpp>

#include "location/owner_stamp.hpp"

namespace spotmesh::location {

enum class HostState : std::uint8_t {
  Preparing,
  Serving,
  Relocating,
  Relocated,
  Draining,
  Stopped,
  Error
};

// Hints for placement; the truth is what the node itself answers. A limit of 0 is no limit.
struct CapacityHint {
  std::uint64_t active = 0;
  std::uint64_t pending = 0;
  std::uint64_t limit = 0;
  friend bool operator==(const CapacityHint&, const CapacityHint&) = default;
};

// How full a node is of one type of Spots, living and pending.
struct SpotTypeHint {
  StableType name;
  std::uint64_t taken = 0;
  std::uint64_t limit = 0;
  friend bool operator==(const SpotTypeHint&, const SpotTypeHint&) = default;
};

// A node's part in one mesh.
struct MeshPart {
  std::string mesh;
  bool is_object_server = false;
  bool is_object_client = false;
  std::uint32_t weight = 0;
  std::uint32_t pending_limit = 0;
  std::vector<StableType> actor_types;
  std::vector<SpotTypeHint> spot_types;
  CapacityHint actors;
  CapacityHint spots;
  friend bool operator==(const MeshPart&, const MeshPart&) = default;
};

// What a node tells the others about itself, under its lease.
struct NodeDescriptor {
  OwnerStamp stamp;
  bool is_stream_gateway = false;
  std::string application_version;
  HostState state = HostState::Preparing;
  std::string advertised_address;  // "host:port" of the mesh listener; empty: none
  std::vector<MeshPart> meshes;    // those in which it has an object role
  const MeshPart* find_mesh(std::string_view name) const;
  friend bool operator==(const NodeDescriptor&, const NodeDescriptor&) = default;
};

// A descriptor tells of at most so many.
inline constexpr std::size_t max_meshes_per_node = 64;

}  // namespace spotmesh::location

#include "mesh/handshake.hpp"

#include <utility>

namespace spotmesh::mesh::handshake {

Actions refuse(wire::MeshRefusalReason reason, std::string text) {
  Actions actions;
  actions.push_back(
      Say{SharedBytes(wire::encode(wire::MeshRefusal{.reason = reason, .text = text}))});
  actions.push_back(Refused{.is_by_peer = false, .reason = reason, .text = std::move(text)});
  return actions;
}

}  // namespace spotmesh::mesh::handshake

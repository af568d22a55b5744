// How a node reaches the others of its cluster, as a Host declares it.
#pragma once

#include <string>

#include <spotmesh/settings.hpp>

namespace spotmesh::host {

struct MeshSettings {
  std::string listen;     // HOST:PORT; empty: the node stands alone, and the rest means nothing
  std::string advertise;  // where others dial it; empty: what it is bound to
  std::string cluster;
  std::string secret;
};

// Declares and reads them. ConfigurationError as Settings gives it, and for a node that others
// could not reach or that anybody could.
MeshSettings read_mesh_settings(Settings& settings);

}  // namespace spotmesh::host

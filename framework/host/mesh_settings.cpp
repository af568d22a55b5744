#include "host/mesh_settings.hpp"

#include <fmt/format.h>

#include <spotmesh/ids.hpp>

#include "net/host_and_port.hpp"

namespace spotmesh::host {
namespace {

void check_reachable(const Settings& settings, const MeshSettings& mesh) {
  if (mesh.advertise.empty()) {
    if (!net::is_unspecified(*net::parse_host_and_port(mesh.listen))) return;
    throw ConfigurationError(fmt::format(
        "{}: mesh.listen = '{}' stands for every address of this machine; say in mesh.advertise "
        "under which one the other nodes reach it",
        settings.origin("mesh.listen"), mesh.listen));
  }
  const auto where = net::parse_host_and_port(mesh.advertise);
  if (net::is_unspecified(*where) || where->port == 0) {
    throw ConfigurationError(fmt::format(
        "{}: mesh.advertise = '{}' leads nowhere; it is an address and a port that other nodes "
        "can dial",
        settings.origin("mesh.advertise"), mesh.advertise));
  }
}

}  // namespace

MeshSettings read_mesh_settings(Settings& settings) {
  const auto is_address_or_empty = [](std::string_view text) {
    return text.empty() || net::parse_host_and_port(text).has_value();
  };
  const std::string allowed = "\"HOST:PORT\", such as 10.0.0.5:7946 or [fd00::5]:7946; \"\"";
  MeshSettings mesh;
  mesh.listen = settings.text("mesh.listen", "", is_address_or_empty,
                              allowed + " means that this node stands alone",
                              "where this node takes connections of the cluster's other nodes");
  mesh.advertise = settings.text("mesh.advertise", "", is_address_or_empty,
                                 allowed + " means what mesh.listen is bound to",
                                 "where the other nodes reach this one");
  mesh.cluster = settings.text(
      "mesh.cluster", "spotmesh",
      [](std::string_view text) { return validate_id(text, "cluster").has_value(); },
      "1 to 255 bytes of UTF-8", "name that all nodes of a cluster share");
  mesh.secret = settings.secret("mesh.secret", "what nodes prove to each other that they know");
  if (mesh.listen.empty()) return mesh;
  if (mesh.secret.empty()) {
    throw ConfigurationError(fmt::format(
        "{}: mesh.listen = '{}' lets other nodes in, for which a secret must be set that all of "
        "them know: in the file that mesh.secret_file names, or in SPOTMESH_MESH_SECRET",
        settings.origin("mesh.listen"), mesh.listen));
  }
  check_reachable(settings, mesh);
  return mesh;
}

}  // namespace spotmesh::host

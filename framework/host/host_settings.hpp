// The settings of the framework itself, as a Host declares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/settings.hpp>
#include <spotmesh/time.hpp>

#include "host/admin_settings.hpp"
#include "host/mesh_settings.hpp"
#include "net/host_and_port.hpp"
#include "stream/stream_options.hpp"

namespace spotmesh::host {

struct NodeSettings {
  std::string prefix;
  std::string version;   // of the application
  unsigned workers = 0;  // 0: one per hardware thread
  Duration stop_deadline{};
  std::optional<std::uint32_t> placement_weight;  // nothing: as the program registers it
};

struct LocationSettings {
  std::string store;  // empty: none
  Duration renew_interval{};
  Duration ttl{};
  Duration renew_timeout{};
  Duration margin{};
};

struct StreamSettings {
  std::string host;
  std::uint16_t port = 0;
  std::string static_directory;
  std::vector<std::string> allowed_origins;
  std::optional<net::HostAndPort> tcp;
  stream::StreamOptions bounds;
};

struct LogSettings {
  std::string level;
  std::string format;
  std::string file;
  std::size_t lines_per_second = 0;
};

struct HostSettings {
  NodeSettings node;
  LocationSettings location;
  MeshSettings mesh;
  StreamSettings stream;
  LogSettings log;
  AdminSettings admin;
};

// Declares and reads them; ConfigurationError as Settings gives it.
HostSettings read_host_settings(Settings& settings);

}  // namespace spotmesh::host

#include "host/host_settings.hpp"

#include <fmt/format.h>

#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>

#include "host/origin.hpp"
#include "host/stream_bounds.hpp"

namespace spotmesh::host {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t longest_version = 128;

NodeSettings read_node(Settings& settings) {
  NodeSettings node;
  node.prefix = settings.text(
      "node.prefix", "node",
      [](std::string_view text) { return validate_prefix(text).has_value(); },
      "1 to 64 letters, digits, dots, underscores and hyphens",
      "first part of this node's routing id");
  node.version = settings.text(
      "node.version", "", [](std::string_view text) { return text.size() <= longest_version; },
      fmt::format("at most {} bytes", longest_version),
      "version of the application, as operators and other nodes see it");
  node.workers = static_cast<unsigned>(settings.integer(
      "node.workers", 0, {0, 256}, "worker threads; 0 means one per hardware thread"));
  node.stop_deadline = settings.duration("node.stop_deadline", 10s, {0ms, 10min},
                                         "how long a stop waits for turns that are under way");
  const std::int64_t weight =
      settings.integer("node.placement_weight", -1, {-1, limits::max_placement_weight},
                       "this node's share of new objects beside its peers' shares; 0: none, -1: as "
                       "the program says");
  if (weight >= 0) node.placement_weight = static_cast<std::uint32_t>(weight);
  return node;
}

LocationSettings read_location(Settings& settings) {
  constexpr Settings::DurationRange lease_range{50ms, 10min};
  const auto lease = [&](std::string_view key, milliseconds fallback, std::string_view meaning) {
    return settings.duration(key, fallback, lease_range, meaning);
  };
  LocationSettings location;
  location.store =
      settings.text("location.store", "sqlite:./cluster.db",
                    "where the Location Store is: sqlite:FILE, redis://HOST:PORT/0?prefix=GAME or "
                    "redis+sentinel://HOST:PORT/PRIMARY?prefix=GAME");
  location.renew_interval = lease("location.lease_renew_interval", limits::lease_renew_interval,
                                  "how often a node renews its lease");
  location.ttl = lease("location.lease_ttl", limits::lease_ttl, "how long a lease lasts");
  location.renew_timeout = lease("location.lease_renew_timeout", limits::lease_renew_timeout,
                                 "how long one renewal may take");
  location.margin = lease("location.lease_margin", limits::lease_margin,
                          "how much earlier than its lease an owner stops, and others wait longer");
  return location;
}

std::optional<net::HostAndPort> read_tcp(Settings& settings) {
  const std::string text =
      settings.text("stream.tcp", "", "HOST:PORT for clients without WebSocket; empty means none");
  if (text.empty()) return std::nullopt;
  auto address = net::parse_host_and_port(text);
  if (!address) {
    throw ConfigurationError("stream.tcp: '" + text +
                             "' is not allowed; allowed: HOST:PORT, such as 127.0.0.1:8081 or "
                             "[::1]:8081, where port 0 means any free one");
  }
  return address;
}

StreamSettings read_stream(Settings& settings) {
  StreamSettings stream;
  stream.host = settings.text("stream.host", "127.0.0.1", "address that clients connect to");
  stream.port = static_cast<std::uint16_t>(
      settings.integer("stream.port", 8080, {0, 65535}, "port for clients; 0 means any free one"));
  stream.static_directory =
      settings.text("stream.static_directory", "", "folder with the web client; empty means none");
  stream.allowed_origins = settings.texts("stream.allowed_origins", {},
                                          "origins whose pages may connect; empty means any");
  for (const std::string& origin : stream.allowed_origins) {
    if (const auto valid = validate_origin(origin); !valid) {
      throw ConfigurationError("stream.allowed_origins: " + valid.error().message());
    }
  }
  stream.tcp = read_tcp(settings);
  stream.bounds = read_stream_bounds(settings);
  return stream;
}

}  // namespace

HostSettings read_host_settings(Settings& settings) {
  HostSettings all;
  all.node = read_node(settings);
  all.location = read_location(settings);
  all.mesh = read_mesh_settings(settings);
  all.stream = read_stream(settings);
  all.log.level =
      settings.choice("log.level", "info", {"debug", "info", "warning", "error"}, "lowest level");
  all.log.format = settings.choice("log.format", "text", {"text", "json"}, "form of a log line");
  all.log.file = settings.text("log.file", "", "file to append to; empty means standard error");
  all.log.lines_per_second = static_cast<std::size_t>(settings.integer(
      "log.lines_per_second", 100, {0, 1'000'000},
      "lines that one part of the server may write at one level; 0 means no bound"));
  all.admin = read_admin_settings(settings);
  return all;
}

}  // namespace spotmesh::host

// The settings of the admin endpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/settings.hpp>

namespace spotmesh::host {

struct AdminSettings {
  std::string address;  // of IPv4 or IPv6; empty: no endpoint
  std::uint16_t port = 0;
  std::string token;  // empty: none, which only a loopback address allows
};

// "127.0.0.1:9464", "[::1]:0", "localhost:9464"; nothing when `text` is none of the kind.
struct AdminAddress {
  std::string address;
  std::uint16_t port = 0;
};
std::optional<AdminAddress> parse_admin_address(std::string_view text);

// Declares and reads them. ConfigurationError as Settings gives it, and for an address that others
// can reach without a token.
AdminSettings read_admin_settings(Settings& settings);

}  // namespace spotmesh::host

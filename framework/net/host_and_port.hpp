// Addresses as people write them: HOST:PORT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spotmesh::net {

struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};

// Of "HOST:PORT"; an IPv6 address stands in brackets. Empty for anything else.
std::optional<HostAndPort> parse_host_and_port(std::string_view text);
// Whether it stands for every address of this machine, which nobody can dial: 0.0.0.0, [::].
bool is_unspecified(const HostAndPort& address);
// The other way round.
std::string to_string(const HostAndPort& address);

}  // namespace spotmesh::net

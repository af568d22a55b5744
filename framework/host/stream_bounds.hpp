// The settings that bound what one client, and all of them, may take of a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/settings.hpp>

#include "stream/stream_options.hpp"

namespace spotmesh::host {

// Declares and reads them; ConfigurationError as Settings gives it, and for an entry of
// stream.proxies that is no address.
stream::StreamOptions read_stream_bounds(Settings& settings);

// An address or a network of 64 bits of IPv6 as LinkInfo::remote_host writes it. Empty for anything
// else.
std::optional<std::string> counted_address(std::string_view text);

}  // namespace spotmesh::host

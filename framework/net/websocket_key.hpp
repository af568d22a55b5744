// The key exchange of the WebSocket opening, RFC 6455 section 4.2.2.
#pragma once

#include <string>
#include <string_view>

#include "base/random.hpp"

namespace spotmesh::net {

// A fresh key for a client's request.
std::string make_websocket_key(Random& random);

// Whether this is the base64 form of 16 bytes.
bool is_websocket_key(std::string_view key);

// What Sec-WebSocket-Accept has to say to it.
std::string websocket_accept(std::string_view key);

}  // namespace spotmesh::net

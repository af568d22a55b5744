// The key exchange of the WebSocket opening, RFC 6455 section 4.2.2.
#pragma once

#include <string>
#include <string_view>

namespace spotmesh::net {

// Whether this is the base64 form of 16 bytes.
bool is_websocket_key(std::string_view key);

// What Sec-WebSocket-Accept has to say to it.
std::string websocket_accept(std::string_view key);

}  // namespace spotmesh::net

// Whether an HTTP request becomes a WebSocket link.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.hpp"
#include "stream/client_links.hpp"

namespace spotmesh::net {

struct AcceptedUpgrade {
  std::string subprotocol;
  std::string response;  // the whole 101
};

// Judges a request for the WebSocket path by RFC 6455 section 4.2.1, the subprotocols that are
// spoken here and the allowed origins. The refusal names what is missing and what is offered. The
// client's order of subprotocols decides.
std::expected<AcceptedUpgrade, TextResponse> judge_upgrade(const RequestHead& request,
                                                           const stream::ListenOptions& options);

// The same for an endpoint without subprotocols, whose handler has judged who may use it. The value
// is the headers of the 101.
std::expected<std::vector<HttpHeader>, TextResponse> judge_bare_upgrade(const RequestHead& request,
                                                                        std::string_view path);

}  // namespace spotmesh::net

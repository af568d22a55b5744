#include "net/upgrade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "net/websocket_key.hpp"

namespace spotmesh::net {

namespace {

std::string offered(const stream::ListenOptions& options) {
  return fmt::format("{}", fmt::join(options.subprotocols, ", "));
}

// The list of what is spoken here also as a header, for clients that do not read texts.
TextResponse refuse(unsigned status, std::string text, const stream::ListenOptions& options) {
  TextResponse response{status, std::move(text), {}};
  if (status == 426) {
    response.headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
  }
  if ((status == 400 || status == 426) && !options.subprotocols.empty()) {
    response.headers.push_back({"Sec-WebSocket-Protocol", offered(options)});
  }
  return response;
}

std::optional<TextResponse> judge_opening(const RequestHead& request,
                                          const stream::ListenOptions& options) {
  if (request.method != "GET") {
    return TextResponse{405, "a WebSocket is opened with GET", {{"Allow", "GET"}}};
  }
  if (!request.has_item("Upgrade", "websocket")) {
    const std::string offer =
        options.subprotocols.empty() ? "" : "; offered subprotocols: " + offered(options);
    return refuse(426, fmt::format("{} is a WebSocket endpoint{}", options.path, offer), options);
  }
  if (request.version < 11) return refuse(400, "a WebSocket needs HTTP/1.1", options);
  if (request.has_body) return refuse(400, "a WebSocket opening has no body", options);
  if (request.single_value("Host").empty()) {
    return refuse(400, "there must be one Host header", options);
  }
  if (!request.has_item("Connection", "upgrade")) {
    return refuse(400, "the Connection header must say Upgrade", options);
  }
  if (request.single_value("Sec-WebSocket-Version") != "13") {
    return refuse(426, "Sec-WebSocket-Version must be 13", options);
  }
  if (!is_websocket_key(request.single_value("Sec-WebSocket-Key"))) {
    return refuse(400, "Sec-WebSocket-Key must be 16 bytes in base64, once", options);
  }
  return std::nullopt;
}

bool is_origin_allowed(const RequestHead& request, const stream::ListenOptions& options) {
  // Browsers always send their origin; what sends none is no page that was lured here.
  if (options.allowed_origins.empty() || request.values("Origin").empty()) return true;
  const std::string_view origin = request.single_value("Origin");
  return std::any_of(
      options.allowed_origins.begin(), options.allowed_origins.end(),
      [origin](const auto& allowed) { return equal_ignoring_case(allowed, origin); });
}

}  // namespace

std::expected<AcceptedUpgrade, TextResponse> judge_upgrade(const RequestHead& request,
                                                           const stream::ListenOptions& options) {
  if (auto refusal = judge_opening(request, options)) return std::unexpected(std::move(*refusal));
  if (!is_origin_allowed(request, options)) {
    return std::unexpected(refuse(403, "this origin may not connect", options));
  }
  const auto& spoken = options.subprotocols;
  for (const std::string_view wanted : request.items("Sec-WebSocket-Protocol")) {
    if (std::find(spoken.begin(), spoken.end(), wanted) == spoken.end()) continue;
    const auto key = request.single_value("Sec-WebSocket-Key");
    return AcceptedUpgrade{std::string(wanted),
                           format_head(101, {{"Upgrade", "websocket"},
                                             {"Connection", "Upgrade"},
                                             {"Sec-WebSocket-Accept", websocket_accept(key)},
                                             {"Sec-WebSocket-Protocol", std::string(wanted)}})};
  }
  return std::unexpected(
      refuse(400,
             fmt::format("Sec-WebSocket-Protocol names none of the offered subprotocols: {}",
                         offered(options)),
             options));
}

std::expected<std::vector<HttpHeader>, TextResponse> judge_bare_upgrade(const RequestHead& request,
                                                                        std::string_view path) {
  stream::ListenOptions options;
  options.path = path;
  options.subprotocols.clear();
  if (auto refusal = judge_opening(request, options)) return std::unexpected(std::move(*refusal));
  return std::vector<HttpHeader>{
      {"Upgrade", "websocket"},
      {"Connection", "Upgrade"},
      {"Sec-WebSocket-Accept", websocket_accept(request.single_value("Sec-WebSocket-Key"))}};
}

}  // namespace spotmesh::net

// EventReader: the stream of events of a cluster, from one admin endpoint.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "cli/admin_client.hpp"
#include "net/os_random.hpp"
#include "wire/websocket.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::cli {

class EventReader {
 public:
  // Errors as of AdminClient. `client` outlives it.
  static Result<EventReader> open(const AdminClient& client, bool with_rows);

  // The next message; nothing when the time is over before. Unavailable: the stream has ended, and
  // why.
  Result<std::optional<nlohmann::json>> next(Instant deadline);
  // After a gap.
  Result<void> ask_snapshot();

 private:
  EventReader(const AdminClient& client, Opened opened);

  Result<std::optional<nlohmann::json>> take();
  Result<void> send(wire::WebSocketOpcode opcode, ByteView payload);

  const AdminClient* client_;
  net::PolledSocket socket_;
  std::string unread_;       // has come, and is not decoded
  std::size_t decoded_ = 0;  // of it
  wire::WebSocketDecoder decoder_;
};

}  // namespace spotmesh::cli

// Why a STREAM connection ended, as numbers on the wire. The table that clients read is in
// schemas/STREAM.md; a number keeps its meaning for ever.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spotmesh::wire {

enum class CloseCode : std::uint16_t {
  // RFC 6455 and the IANA registry.
  Normal = 1000,           // the client is done
  GoingAway = 1001,        // the server is shutting down, or the page is left
  ProtocolError = 1002,    // WebSocket frames that break RFC 6455
  UnsupportedData = 1003,  // a binary message where the subprotocol has text, or the reverse
  NoStatus = 1005,         // never sent: the close frame carried no code
  InvalidText = 1007,      // a text message or close reason that is not UTF-8
  PolicyViolation = 1008,  // a message in too many fragments
  MessageTooBig = 1009,    // a message above the limit; the reason names limit and size
  InternalError = 1011,    // the server failed
  // Spotmesh's own.
  Disconnected = 4000,   // the game ended the session; the reason is the game's
  BadMessage = 4001,     // a message that is not one of STREAM's; the reason names the fault
  SlowReader = 4002,     // the client did not read, and its backlog reached the bound
  Replaced = 4003,       // another session took over the Actor
  Unresponsive = 4005,   // no sign of life within two heartbeats, or a message that never ended
  Overloaded = 4006,     // the server has no room for another session
  QuotaExceeded = 4007,  // the client went past a quota of its session
  Incompatible = 4008,   // protocol version or schema does not fit; the reason names what
};

// A close as it is sent or was received.
struct WebSocketClose {
  CloseCode code = CloseCode::NoStatus;
  std::string reason;  // UTF-8
  friend bool operator==(const WebSocketClose&, const WebSocketClose&) = default;
};

// Whether a close frame may carry this code: 1000..1003, 1007..1014 and 3000..4999.
bool may_be_sent(CloseCode code);

// "SlowReader" for logs; "unknown" for a code without a name here.
std::string_view to_string(CloseCode code);

}  // namespace spotmesh::wire

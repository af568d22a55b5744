// The bodies of Hello and Welcome (schemas/stream_handshake.fbs), as values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "wire/schema_prints.hpp"

namespace spotmesh::wire {

inline constexpr std::uint16_t stream_protocol_version = 1;
// The lowest bound of messages that a client may ask for: an error reply has its place in it.
inline constexpr std::uint32_t min_client_message_bytes = 4096;

struct StreamHello {
  std::uint16_t version = stream_protocol_version;
  std::uint32_t message_bytes = 0;  // 0: any
  std::vector<TypePrint> types;
  Bytes resume;
};

struct StreamWelcome {
  std::uint16_t version = stream_protocol_version;
  std::string session;
  std::uint32_t message_bytes = 0;
  std::uint32_t requests_in_flight = 0;
  std::uint32_t request_timeout_ms = 0;
  std::uint32_t heartbeat_ms = 0;
  bool is_resumed = false;
  Bytes resume;
};

// Verified first. ProtocolError, in words that can be the reason of a close, when the bytes are no
// such table.
Result<StreamHello> read_stream_hello(ByteView body);
Result<StreamWelcome> read_stream_welcome(ByteView body);

Bytes write_stream_hello(const StreamHello& hello);
Bytes write_stream_welcome(const StreamWelcome& welcome);

}  // namespace spotmesh::wire

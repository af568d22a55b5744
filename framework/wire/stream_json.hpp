// The envelope of the STREAM subprotocol spotmesh.v1.json (schemas/STREAM.md): which packet, and
// whose reply. What a payload means is its schema's business; here it is a JSON object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include <spotmesh/error.hpp>

#include "wire/json.hpp"
#include "wire/request_seq.hpp"

namespace spotmesh::wire {

inline constexpr std::string_view json_subprotocol = "spotmesh.v1.json";
inline constexpr std::size_t max_packet_name_bytes = 255;
// A longer error text is cut in a reply.
inline constexpr std::size_t max_error_message_bytes = 1024;

// {"packet": …, "seq"?: …, "payload"?: …}
struct ClientPacket {
  std::string packet;
  RequestSeq seq;
  nlohmann::json payload;  // an object; empty where the message had none
};

// {"packet": …, "payload"?: …}
struct ServerPush {
  std::string packet;
  nlohmann::json payload;
};

// {"reply_to": …, "packet": …, "payload"?: …}
struct ServerReply {
  RequestSeq reply_to;
  std::string packet;
  nlohmann::json payload;
};

// {"reply_to": …, "error": {"kind": …, "code": …, "message": …}}
struct ServerErrorReply {
  RequestSeq reply_to;
  Error error;
};

using ServerMessage = std::variant<ServerPush, ServerReply, ServerErrorReply>;

// What a server reads. ProtocolError names the field and the fault, in words that can be the reason
// of a close. Strict: an unknown, missing or repeated field and a wrong type are refused.
Result<ClientPacket> parse_client_message(std::string_view text, const JsonLimits& limits = {});

// What a client reads, by the same rules.
Result<ServerMessage> parse_server_message(std::string_view text, const JsonLimits& limits = {});

// The text of each form. `payload` is the text of a JSON object and is not checked.
std::string write_packet(std::string_view packet, std::string_view payload);
std::string write_request(RequestSeq seq, std::string_view packet, std::string_view payload);
std::string write_reply(RequestSeq reply_to, std::string_view packet, std::string_view payload);
std::string write_error_reply(RequestSeq reply_to, const Error& error);

}  // namespace spotmesh::wire

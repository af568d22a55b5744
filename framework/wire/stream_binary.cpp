#include "wire/stream_binary.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "wire/stream_json.hpp"
#include "wire/text.hpp"
#include "wire/websocket.hpp"

namespace spotmesh::wire {
namespace {

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::protocol_error(std::move(message)));
}

// What a kind is: who may say it, and which fields it has.
struct KindRule {
  std::string_view name;
  bool is_of_client = false;
  bool is_of_server = false;
  bool is_control = false;  // the carrier's own where it has such
  bool has_code = false;
  bool has_packet = false;
  bool has_seq = false;
};

constexpr KindRule rules[] = {
    {},  // no kind is 0
    {.name = "Hello", .is_of_client = true},
    {.name = "Welcome", .is_of_server = true},
    {.name = "OneWay", .is_of_client = true, .has_packet = true},
    {.name = "Request", .is_of_client = true, .has_packet = true, .has_seq = true},
    {.name = "Push", .is_of_server = true, .has_packet = true},
    {.name = "Reply", .is_of_server = true, .has_packet = true, .has_seq = true},
    {.name = "ErrorReply", .is_of_server = true, .has_code = true, .has_seq = true},
    {.name = "Ping", .is_of_client = true, .is_of_server = true, .is_control = true},
    {.name = "Pong", .is_of_client = true, .is_of_server = true, .is_control = true},
    {.name = "Close",
     .is_of_client = true,
     .is_of_server = true,
     .is_control = true,
     .has_code = true},
};
constexpr std::size_t kind_count = std::size(rules);

std::uint32_t byte_at(ByteView bytes, std::size_t offset) {
  return std::to_integer<std::uint32_t>(bytes[offset]);
}

std::uint16_t read_16(ByteView bytes, std::size_t offset) {
  return static_cast<std::uint16_t>(byte_at(bytes, offset) | byte_at(bytes, offset + 1) << 8);
}

std::uint32_t read_32(ByteView bytes, std::size_t offset) {
  return byte_at(bytes, offset) | byte_at(bytes, offset + 1) << 8 |
         byte_at(bytes, offset + 2) << 16 | byte_at(bytes, offset + 3) << 24;
}

void write_32(std::byte* place, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) place[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

bool is_said_by(const KindRule& rule, BinarySender sender) {
  return sender == BinarySender::Client ? rule.is_of_client : rule.is_of_server;
}

std::unexpected<Error> refuse_kind(std::uint8_t kind, BinarySender sender) {
  if (kind == 0 || kind >= kind_count) return refuse(fmt::format("there is no kind {}", kind));
  const KindRule& rule = rules[kind];
  if (!is_said_by(rule, sender)) {
    return refuse(fmt::format("{} is not said by a {}", rule.name,
                              sender == BinarySender::Client ? "client" : "server"));
  }
  return refuse(fmt::format("{} is a frame of WebSocket's own here", rule.name));
}

std::unexpected<Error> refuse_field(std::string_view kind, std::string_view field, bool is_used) {
  return refuse(is_used ? fmt::format("{} must have a {}", kind, field)
                        : fmt::format("{} has no {}, which must be 0", kind, field));
}

Result<void> check_text(std::string_view kind, ByteView text, std::size_t most_bytes) {
  if (text.size() > most_bytes) {
    return refuse(
        fmt::format("the text of {} has {} bytes, {} is the most", kind, text.size(), most_bytes));
  }
  if (!is_valid_utf8(as_text(text)))
    return refuse(fmt::format("the text of {} is not UTF-8", kind));
  return {};
}

Result<void> check_close(const BinaryFrame& frame) {
  const auto code = static_cast<CloseCode>(frame.code);
  if (code == CloseCode::NoStatus && frame.body.empty()) return {};
  if (!may_be_sent(code)) {
    return refuse(fmt::format("close code {} must not be sent", frame.code));
  }
  return check_text("Close", frame.body, max_close_reason_bytes);
}

Result<void> check_body(const BinaryFrame& frame) {
  switch (frame.kind) {
    case BinaryKind::ErrorReply:
      if (frame.code >= error_kind_count) {
        return refuse(fmt::format("there is no error kind {}", frame.code));
      }
      return check_text("ErrorReply", frame.body, max_error_message_bytes);
    case BinaryKind::Ping:
    case BinaryKind::Pong:
      if (frame.body.size() <= max_control_payload_bytes) return {};
      return refuse(fmt::format("the body of a Ping or Pong has {} bytes, {} is the most",
                                frame.body.size(), max_control_payload_bytes));
    case BinaryKind::Close:
      return check_close(frame);
    default:
      return {};
  }
}

// An error kind of 0 is one, so the code of an ErrorReply may be 0.
bool may_have_code(const KindRule& rule, std::uint16_t code) { return rule.has_code || code == 0; }

}  // namespace

Result<BinaryFrame> parse_binary_frame(ByteView bytes, BinarySender sender, BinaryCarrier carrier) {
  if (bytes.size() < binary_header_bytes) {
    return refuse(fmt::format("a frame has {} bytes, its header alone has {}", bytes.size(),
                              binary_header_bytes));
  }
  const auto kind = std::to_integer<std::uint8_t>(bytes[0]);
  if (kind == 0 || kind >= kind_count || !is_said_by(rules[kind], sender) ||
      (rules[kind].is_control && carrier == BinaryCarrier::WebSocket)) {
    return refuse_kind(kind, sender);
  }
  const KindRule& rule = rules[kind];
  const BinaryFrame frame{.kind = static_cast<BinaryKind>(kind),
                          .code = read_16(bytes, 2),
                          .packet = {read_32(bytes, 4)},
                          .seq = {read_32(bytes, 8)},
                          .body = bytes.subspan(binary_header_bytes)};
  if (bytes[1] != std::byte{0}) {
    return refuse(fmt::format("the second byte of {} must be 0", rule.name));
  }
  if (!may_have_code(rule, frame.code)) {
    return refuse(fmt::format("{} has no code, which must be 0", rule.name));
  }
  if (rule.has_packet != (frame.packet.value != 0)) {
    return refuse_field(rule.name, "packet id", rule.has_packet);
  }
  if (rule.has_seq != (frame.seq.value != 0)) return refuse_field(rule.name, "seq", rule.has_seq);
  // Of a packet that is its schema's business.
  if (!rule.has_packet) {
    if (auto sound = check_body(frame); !sound) return fail(sound.error());
  }
  return frame;
}

std::array<std::byte, binary_header_bytes> binary_header(const BinaryFrame& frame) {
  std::array<std::byte, binary_header_bytes> header{};
  header[0] = static_cast<std::byte>(frame.kind);
  header[2] = static_cast<std::byte>(frame.code & 0xff);
  header[3] = static_cast<std::byte>(frame.code >> 8);
  write_32(&header[4], frame.packet.value);
  write_32(&header[8], frame.seq.value);
  return header;
}

void append_binary_frame(Bytes& out, const BinaryFrame& frame) {
  const auto header = binary_header(frame);
  out.reserve(out.size() + header.size() + frame.body.size());
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), frame.body.begin(), frame.body.end());
}

Bytes write_binary_error_reply(RequestSeq seq, const Error& error) {
  const std::string text = as_utf8(error.message());
  Bytes out;
  append_binary_frame(out, {.kind = BinaryKind::ErrorReply,
                            .code = static_cast<std::uint16_t>(error.kind()),
                            .seq = seq,
                            .body = as_bytes(cut_at_character(text, max_error_message_bytes))});
  return out;
}

Error error_of(const BinaryFrame& frame) {
  return Error(static_cast<ErrorKind>(frame.code), std::string(as_text(frame.body)));
}

Bytes write_binary_close(const WebSocketClose& close) {
  const bool is_sayable = may_be_sent(close.code);
  const auto code = is_sayable ? close.code : CloseCode::NoStatus;
  const std::string reason = is_sayable ? as_utf8(close.reason) : std::string();
  Bytes out;
  append_binary_frame(out, {.kind = BinaryKind::Close,
                            .code = static_cast<std::uint16_t>(code),
                            .body = as_bytes(cut_at_character(reason, max_close_reason_bytes))});
  return out;
}

WebSocketClose close_of(const BinaryFrame& frame) {
  return {static_cast<CloseCode>(frame.code), std::string(as_text(frame.body))};
}

}  // namespace spotmesh::wire

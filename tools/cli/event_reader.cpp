#include "cli/event_reader.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

#include "net/websocket_key.hpp"

namespace spotmesh::cli {
namespace {

// A page of a snapshot, whose rows may be long.
constexpr std::size_t longest_message = 16 * 1024 * 1024;
// Nothing but pings comes from a cluster in which nothing happens.
constexpr Duration longest_silence = std::chrono::seconds(45);
constexpr Duration write_time = std::chrono::seconds(5);

wire::MaskKey new_mask(Random& random) {
  const std::uint64_t bits = random.next_u64();
  wire::MaskKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(bits >> (8 * i));
  return key;
}

}  // namespace

EventReader::EventReader(const AdminClient& client, Opened opened)
    : client_(&client),
      socket_(std::move(opened.socket)),
      unread_(std::move(opened.rest)),
      decoder_({.role = wire::WebSocketRole::Client,
                .max_message_bytes = longest_message,
                .max_message_fragments = 1024}) {}

Result<EventReader> EventReader::open(const AdminClient& client, bool with_rows) {
  net::OsRandom random;
  const std::string key = net::make_websocket_key(random);
  const std::string headers = fmt::format(
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: {}\r\n",
      key);
  auto opened = client.open("GET", with_rows ? "/v1/events" : "/v1/events?rows=false", headers,
                            client.deadline());
  if (!opened) return fail(opened.error());
  if (opened->status != 101) {
    return fail(AdminClient::error_of(opened->status, opened->rest));
  }
  if (header_of(opened->head, "Sec-WebSocket-Accept") != net::websocket_accept(key)) {
    return fail(Error::protocol_error("what answers there does not speak WebSocket"));
  }
  return EventReader(client, *std::move(opened));
}

Result<std::optional<nlohmann::json>> EventReader::next(Instant deadline) {
  Instant heard = client_->now();
  while (true) {
    auto message = take();
    if (!message || *message) return message;
    std::array<std::byte, 64 * 1024> buffer{};
    const auto got = socket_.read(buffer);
    if (!got) return fail(got.error());
    if (*got > 0) {
      unread_ += as_text(ByteView(buffer.data(), *got));
      heard = client_->now();
      continue;
    }
    const Instant now = client_->now();
    if (now >= deadline) return std::optional<nlohmann::json>();
    if (now >= heard + longest_silence) {
      return fail(Error::unavailable("the endpoint has fallen silent"));
    }
    socket_.wait(false, std::min(deadline, heard + longest_silence) - now);
  }
}

// A whole message of what has come.
Result<std::optional<nlohmann::json>> EventReader::take() {
  using Kind = wire::WebSocketEvent::Kind;
  while (true) {
    ByteView left = as_bytes(unread_).subspan(decoded_);
    const wire::WebSocketEvent event = decoder_.next(left);
    decoded_ = unread_.size() - left.size();
    switch (event.kind) {
      case Kind::NeedMoreBytes:
        unread_.clear();
        decoded_ = 0;
        return std::optional<nlohmann::json>();
      case Kind::Text: {
        auto parsed = nlohmann::json::parse(as_text(event.payload), nullptr, false);
        if (!parsed.is_object()) {
          return fail(Error::protocol_error("a message of the stream is no JSON"));
        }
        return std::optional(std::move(parsed));
      }
      case Kind::Ping:
        if (auto sent = send(wire::WebSocketOpcode::Pong, event.payload); !sent) {
          return fail(sent.error());
        }
        break;
      case Kind::Close:
        return fail(Error::unavailable("the endpoint has ended the stream: " + event.close.reason));
      case Kind::Failed:
        return fail(Error::protocol_error("the stream is unsound: " + event.close.reason));
      case Kind::Binary:
      case Kind::Pong:
        break;
    }
  }
}

Result<void> EventReader::ask_snapshot() {
  return send(wire::WebSocketOpcode::Text, as_bytes(R"({"ask":"snapshot"})"));
}

Result<void> EventReader::send(wire::WebSocketOpcode opcode, ByteView payload) {
  net::OsRandom random;
  Bytes frame;
  wire::append_frame(frame, opcode, payload, new_mask(random));
  const Instant deadline = client_->now() + write_time;
  for (ByteView left(frame); !left.empty();) {
    const auto taken = socket_.write(left);
    if (!taken) return fail(taken.error());
    left = left.subspan(*taken);
    if (client_->now() >= deadline) return fail(Error::unavailable("the endpoint does not read"));
    if (!left.empty()) socket_.wait(true, deadline - client_->now());
  }
  return {};
}

}  // namespace spotmesh::cli

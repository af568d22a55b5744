#include "wire/stream_binary.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "websocket_test_frames.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/stream_json.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using spotmesh::wire::test::hex;

namespace {

struct Refusal {
  std::string claim;
  Bytes frame;
  std::string message;
  BinarySender sender = BinarySender::Client;
  BinaryCarrier carrier = BinaryCarrier::Tcp;
};

void check_all(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    INFO(refusal.claim);
    const auto frame = parse_binary_frame(refusal.frame, refusal.sender, refusal.carrier);
    REQUIRE_FALSE(frame.has_value());
    CHECK(frame.error() == Error::protocol_error(refusal.message));
  }
}

Bytes written(const BinaryFrame& frame) {
  Bytes out;
  append_binary_frame(out, frame);
  return out;
}

Bytes with_body(std::string_view header, std::size_t bytes, char fill = 'x') {
  Bytes frame = hex(header);
  frame.resize(frame.size() + bytes, static_cast<std::byte>(fill));
  return frame;
}

}  // namespace

TEST_CASE("a binary frame is its header, little-endian, and its body") {
  const Bytes body = hex("aa bb");
  const Bytes frame = written(
      {.kind = BinaryKind::Request, .packet = {0x01020304}, .seq = {0x0a0b0c0d}, .body = body});
  CHECK(frame == hex("04 00 00 00 04 03 02 01 0d 0c 0b 0a aa bb"));
  CHECK(written({.kind = BinaryKind::ErrorReply, .code = 10, .seq = {7}}) ==
        hex("07 00 0a 00 00 00 00 00 07 00 00 00"));
}

TEST_CASE("each kind of binary frame is read as it was written") {
  const Bytes body = hex("00 01 fe ff");
  const std::vector<std::pair<BinaryFrame, BinarySender>> frames{
      {{.kind = BinaryKind::Hello, .body = body}, BinarySender::Client},
      {{.kind = BinaryKind::Welcome, .body = body}, BinarySender::Server},
      {{.kind = BinaryKind::OneWay, .packet = {7}, .body = body}, BinarySender::Client},
      {{.kind = BinaryKind::Request, .packet = {7}, .seq = {4294967295}, .body = body},
       BinarySender::Client},
      {{.kind = BinaryKind::Push, .packet = {4294967295}, .body = body}, BinarySender::Server},
      {{.kind = BinaryKind::Reply, .packet = {7}, .seq = {1}, .body = body}, BinarySender::Server},
      {{.kind = BinaryKind::Ping, .body = body}, BinarySender::Client},
      {{.kind = BinaryKind::Pong, .body = body}, BinarySender::Server},
  };
  for (const auto& [frame, sender] : frames) {
    INFO(static_cast<int>(frame.kind));
    const Bytes bytes = written(frame);
    const auto read = parse_binary_frame(bytes, sender, BinaryCarrier::Tcp);
    REQUIRE(read.has_value());
    CHECK(read->kind == frame.kind);
    CHECK(read->packet == frame.packet);
    CHECK(read->seq == frame.seq);
    CHECK(Bytes(read->body.begin(), read->body.end()) == body);
  }
}

TEST_CASE("a binary frame of a wrong shape is refused with its fault") {
  check_all({
      {"nothing", {}, "a frame has 0 bytes, its header alone has 12"},
      {"half a header", hex("03 00 00 00 01 00 00 00 00 00 00"),
       "a frame has 11 bytes, its header alone has 12"},
      {"kind 0", hex("00 00 00 00 01 00 00 00 00 00 00 00"), "there is no kind 0"},
      {"kind 11", hex("0b 00 00 00 01 00 00 00 00 00 00 00"), "there is no kind 11"},
      {"kind 255", hex("ff 00 00 00 01 00 00 00 00 00 00 00"), "there is no kind 255"},
      {"second byte", hex("03 01 00 00 01 00 00 00 00 00 00 00"),
       "the second byte of OneWay must be 0"},
      {"code of a packet", hex("03 00 01 00 01 00 00 00 00 00 00 00"),
       "OneWay has no code, which must be 0"},
      {"seq of a one-way packet", hex("03 00 00 00 01 00 00 00 01 00 00 00"),
       "OneWay has no seq, which must be 0"},
      {"no packet id", hex("03 00 00 00 00 00 00 00 00 00 00 00"), "OneWay must have a packet id"},
      {"no seq", hex("04 00 00 00 01 00 00 00 00 00 00 00"), "Request must have a seq"},
      {"packet id of Hello", hex("01 00 00 00 01 00 00 00 00 00 00 00"),
       "Hello has no packet id, which must be 0"},
      {"seq of a ping", hex("08 00 00 00 00 00 00 00 01 00 00 00"),
       "Ping has no seq, which must be 0"},
      {"a long ping", with_body("08 00 00 00 00 00 00 00 00 00 00 00", 126),
       "the body of a Ping or Pong has 126 bytes, 125 is the most"},
  });
}

TEST_CASE("each side says its own kinds of binary frame only") {
  const auto frame_of = [](int kind) {
    Bytes frame = hex("00 00 00 00 00 00 00 00 00 00 00 00");
    frame[0] = static_cast<std::byte>(kind);
    return frame;
  };
  check_all({
      {"Welcome of a client", frame_of(2), "Welcome is not said by a client"},
      {"Push of a client", frame_of(5), "Push is not said by a client"},
      {"Reply of a client", frame_of(6), "Reply is not said by a client"},
      {"ErrorReply of a client", frame_of(7), "ErrorReply is not said by a client"},
      {"Hello of a server", frame_of(1), "Hello is not said by a server", BinarySender::Server},
      {"OneWay of a server", frame_of(3), "OneWay is not said by a server", BinarySender::Server},
      {"Request of a server", frame_of(4), "Request is not said by a server", BinarySender::Server},
      {"Ping in a WebSocket", frame_of(8), "Ping is a frame of WebSocket's own here",
       BinarySender::Client, BinaryCarrier::WebSocket},
      {"Pong in a WebSocket", frame_of(9), "Pong is a frame of WebSocket's own here",
       BinarySender::Server, BinaryCarrier::WebSocket},
      {"Close in a WebSocket", frame_of(10), "Close is a frame of WebSocket's own here",
       BinarySender::Client, BinaryCarrier::WebSocket},
  });
}

TEST_CASE("an error reply keeps kind and message for every kind in a binary frame") {
  for (unsigned code = 0; code < error_kind_count; ++code) {
    const Error error(static_cast<ErrorKind>(code), "cell 4 is \"taken\"\n");
    const Bytes bytes = write_binary_error_reply({4294967295}, error);
    const auto frame = parse_binary_frame(bytes, BinarySender::Server, BinaryCarrier::WebSocket);
    REQUIRE(frame.has_value());
    CHECK(frame->kind == BinaryKind::ErrorReply);
    CHECK(frame->seq == RequestSeq{4294967295});
    CHECK(error_of(*frame) == error);
  }
  check_all({
      {"kind 13", hex("07 00 0d 00 00 00 00 00 01 00 00 00"), "there is no error kind 13",
       BinarySender::Server},
      {"text that is not UTF-8", hex("07 00 00 00 00 00 00 00 01 00 00 00 ff"),
       "the text of ErrorReply is not UTF-8", BinarySender::Server},
      {"a long text", with_body("07 00 00 00 00 00 00 00 01 00 00 00", 1025),
       "the text of ErrorReply has 1025 bytes, 1024 is the most", BinarySender::Server},
  });
}

TEST_CASE("a long or unsound error text is cut and mended in a binary frame") {
  const Bytes bytes =
      write_binary_error_reply({1}, Error::internal_failure("\xff" + std::string(2000, 'x')));
  const auto frame = parse_binary_frame(bytes, BinarySender::Server, BinaryCarrier::Tcp);
  REQUIRE(frame.has_value());
  CHECK(error_of(*frame).message() ==
        "\xef\xbf\xbd" + std::string(max_error_message_bytes - 3, 'x'));
}

TEST_CASE("a close over TCP bears what a close of WebSocket bears") {
  const auto said = [](const WebSocketClose& close) {
    const Bytes bytes = write_binary_close(close);
    const auto frame = parse_binary_frame(bytes, BinarySender::Client, BinaryCarrier::Tcp);
    REQUIRE(frame.has_value());
    return close_of(*frame);
  };
  CHECK(said({CloseCode::Replaced, "é"}) == WebSocketClose{CloseCode::Replaced, "é"});
  CHECK(said({CloseCode::NoStatus, ""}) == WebSocketClose{CloseCode::NoStatus, ""});
  CHECK(said({static_cast<CloseCode>(1006), "x"}) == WebSocketClose{CloseCode::NoStatus, ""});
  CHECK(said({CloseCode::Normal, std::string(122, 'x') + "é"}).reason == std::string(122, 'x'));
  check_all({
      {"no code", hex("0a 00 00 00 00 00 00 00 00 00 00 00"), "close code 0 must not be sent"},
      {"1006", hex("0a 00 ee 03 00 00 00 00 00 00 00 00"), "close code 1006 must not be sent"},
      {"a reason without a code", hex("0a 00 ed 03 00 00 00 00 00 00 00 00 78"),
       "close code 1005 must not be sent"},
      {"a reason that is not UTF-8", hex("0a 00 e8 03 00 00 00 00 00 00 00 00 ff"),
       "the text of Close is not UTF-8"},
      {"a long reason", with_body("0a 00 e8 03 00 00 00 00 00 00 00 00", 124),
       "the text of Close has 124 bytes, 123 is the most"},
  });
}

TEST_CASE("Hello and Welcome are read as they were written") {
  const StreamHello hello{.version = 1,
                          .message_bytes = 65'536,
                          .types = {{"a.B", {1, 0, 4294967295}}, {"a.C", {}}},
                          .resume = hex("01 02")};
  const auto read = read_stream_hello(write_stream_hello(hello));
  REQUIRE(read.has_value());
  CHECK(read->version == hello.version);
  CHECK(read->message_bytes == hello.message_bytes);
  CHECK(read->types == hello.types);
  CHECK(read->resume == hello.resume);

  const StreamWelcome welcome{.version = 1,
                              .session = "00ff",
                              .message_bytes = 1,
                              .requests_in_flight = 2,
                              .request_timeout_ms = 3,
                              .heartbeat_ms = 4,
                              .is_resumed = true,
                              .resume = hex("05")};
  const auto heard = read_stream_welcome(write_stream_welcome(welcome));
  REQUIRE(heard.has_value());
  CHECK(heard->version == welcome.version);
  CHECK(heard->session == welcome.session);
  CHECK(heard->message_bytes == welcome.message_bytes);
  CHECK(heard->requests_in_flight == welcome.requests_in_flight);
  CHECK(heard->request_timeout_ms == welcome.request_timeout_ms);
  CHECK(heard->heartbeat_ms == welcome.heartbeat_ms);
  CHECK(heard->is_resumed);
  CHECK(heard->resume == welcome.resume);
}

TEST_CASE("a damaged Hello or Welcome is refused wherever it is cut") {
  const Bytes hello =
      write_stream_hello({.types = {{"a.B", {1, 2, 3}}}, .resume = hex("01 02 03 04")});
  const Bytes welcome = write_stream_welcome({.session = "00ff", .resume = hex("01 02 03 04")});
  for (std::size_t size = 0; size < hello.size(); ++size) {
    INFO(size);
    // Only padding may be missing at the end.
    const auto read = read_stream_hello(ByteView(hello).first(size));
    if (read) CHECK(size + 4 > hello.size());
  }
  CHECK_FALSE(read_stream_hello({}).has_value());
  CHECK(read_stream_hello(hex("ff ff ff ff ff ff ff ff")).error() ==
        Error::protocol_error("the body of Hello is no such table"));
  CHECK(read_stream_welcome(ByteView(welcome).first(8)).error() ==
        Error::protocol_error("the body of Welcome is no such table"));
}

// The WebSocket framing against Boost.Beast, which shares no code with it: each end is Beast once,
// and what a server must refuse Beast refuses as well.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spotmesh/client/client.hpp>

#include "unit/net/links_fixture.hpp"
#include "wire/websocket.hpp"
#include "wire/websocket_decoder.hpp"
#include "zoo.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace spotmesh::wire;

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t longest_message = 2 * limits::mebibyte;

// Sends every message and ping back, by our codec.
class EchoLink final : public stream::ClientLinkHandler {
 public:
  explicit EchoLink(stream::ClientLink& link) : link_(link) {}

  void on_bytes(ByteView bytes) override {
    using Kind = WebSocketEvent::Kind;
    for (auto event = decoder_.next(bytes); event.kind != Kind::NeedMoreBytes;
         event = decoder_.next(bytes)) {
      if (event.kind == Kind::Text) send(WebSocketOpcode::Text, event.payload);
      if (event.kind == Kind::Binary) send(WebSocketOpcode::Binary, event.payload);
      if (event.kind == Kind::Ping) send(WebSocketOpcode::Pong, event.payload);
      if (event.kind == Kind::Close || event.kind == Kind::Failed) end(event.close);
    }
  }
  void on_drained() override {}
  void on_closed(std::string_view) override {}

 private:
  void send(WebSocketOpcode opcode, ByteView payload) {
    Bytes frame;
    append_frame(frame, opcode, payload);
    link_.send({SharedBytes(frame)});
  }
  void end(const WebSocketClose& close) {
    Bytes frame;
    append_close_frame(frame, close.code, close.reason);
    link_.send({SharedBytes(frame)});
    link_.close_after_flush();
  }

  stream::ClientLink& link_;
  WebSocketDecoder decoder_{{.max_message_bytes = longest_message}};
};

struct EchoAcceptor final : stream::LinkAcceptor {
  Result<std::shared_ptr<stream::ClientLinkHandler>> on_link(stream::ClientLink& link,
                                                             const stream::LinkInfo&) override {
    return std::make_shared<EchoLink>(link);
  }
};

struct EchoServer {
  EchoServer() {
    const auto bound = links.listen({}, acceptor);
    REQUIRE(bound);
    port = *bound;
  }
  WorkerPool pool{{.threads = 2}};
  ThreadWorkers workers{{.cpu_threads = 1, .io_threads = 1}};
  RecordingLog log;
  EchoAcceptor acceptor;
  AsioClientLinks links{pool, workers, log};
  std::uint16_t port = 0;
};

using BeastStream = websocket::stream<tcp::socket>;

// A Beast client that has opened a connection.
struct BeastClient {
  explicit BeastClient(const EchoServer& server) : socket(io) {
    socket.next_layer().connect({asio::ip::address_v4::loopback(), server.port});
    socket.next_layer().set_option(tcp::no_delay(true));
    socket.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
      request.set(beast::http::field::sec_websocket_protocol, "spotmesh.v1, spotmesh.v1.json");
    }));
    socket.read_message_max(longest_message);
    websocket::response_type response;
    socket.handshake(response, "127.0.0.1", "/stream");
    protocol = std::string(response[beast::http::field::sec_websocket_protocol]);
  }

  std::string echo(const std::string& message, bool is_text) {
    socket.text(is_text);
    socket.write(asio::buffer(message));
    return read(is_text);
  }
  std::string read(bool is_text) {
    beast::flat_buffer buffer;
    socket.read(buffer);
    CHECK(socket.got_text() == is_text);
    return beast::buffers_to_string(buffer.data());
  }
  // How the server ended the connection.
  unsigned read_close() {
    beast::flat_buffer buffer;
    error_code error;
    socket.read(buffer, error);
    CHECK(error == websocket::error::closed);
    return socket.reason().code;
  }

  asio::io_context io;
  BeastStream socket;
  std::string protocol;
};

std::string text_of(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() + 2 <= bytes; ++i) text += i % 3 == 0 ? "é" : "ab";
  return text.append(bytes - text.size(), '.');
}

std::string every_byte() {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

// What one end makes of bytes: "text …" and "binary …" for messages, then how it ended.
using Verdict = std::vector<std::string>;

Verdict our_verdict(const Bytes& bytes) {
  WebSocketDecoder decoder({.max_message_bytes = 1000});
  ByteView input = bytes;
  Verdict verdict;
  for (;;) {
    const auto event = decoder.next(input);
    switch (event.kind) {
      case WebSocketEvent::Kind::NeedMoreBytes:
        verdict.emplace_back("waits");
        return verdict;
      case WebSocketEvent::Kind::Text:
        verdict.push_back("text " + std::string(as_text(event.payload)));
        break;
      case WebSocketEvent::Kind::Binary:
        verdict.push_back("binary " + std::string(as_text(event.payload)));
        break;
      case WebSocketEvent::Kind::Close:
        verdict.push_back("closed " + std::to_string(static_cast<unsigned>(event.close.code)));
        return verdict;
      case WebSocketEvent::Kind::Failed:
        verdict.push_back("refused " + std::to_string(static_cast<unsigned>(event.close.code)));
        return verdict;
      case WebSocketEvent::Kind::Ping:
      case WebSocketEvent::Kind::Pong:
        break;
    }
  }
}

// The code in the close frame that a Beast server has sent; 1006 when there is none.
unsigned close_code_in(const std::string& heard) {
  WebSocketDecoder decoder({.role = WebSocketRole::Client});
  ByteView input = as_bytes(heard);
  for (auto event = decoder.next(input); event.kind != WebSocketEvent::Kind::NeedMoreBytes;
       event = decoder.next(input)) {
    if (event.kind == WebSocketEvent::Kind::Close) return static_cast<unsigned>(event.close.code);
  }
  return 1006;
}

Verdict verdict_of_beast(const Bytes& bytes) {
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  testing::BlockingClient client(acceptor.local_endpoint().port());
  BeastStream server(acceptor.accept());
  server.read_message_max(1000);
  REQUIRE(client.send(upgrade_request()));
  server.accept();
  REQUIRE(client.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  REQUIRE(client.send(as_text(bytes)));
  client.finish_sending();

  Verdict verdict;
  for (;;) {
    beast::flat_buffer buffer;
    error_code error;
    server.read(buffer, error);
    if (!error) {
      verdict.push_back((server.got_text() ? "text " : "binary ") +
                        beast::buffers_to_string(buffer.data()));
      continue;
    }
    if (error == websocket::error::closed) {
      const unsigned code = server.reason().code;
      verdict.push_back("closed " + std::to_string(code == 0 ? 1005 : code));
    } else if (error.category() == make_error_code(websocket::error::closed).category()) {
      server.next_layer().close();
      verdict.push_back("refused " + std::to_string(close_code_in(client.receive_all())));
    } else {
      verdict.emplace_back("waits");  // the end of the stream
    }
    return verdict;
  }
}

Bytes frame(std::uint8_t first_byte, const std::string& payload, bool is_masked = true) {
  const MaskKey mask{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};
  Bytes bytes;
  append_frame(bytes, WebSocketOpcode::Binary, as_bytes(payload),
               is_masked ? std::optional(mask) : std::nullopt);
  bytes[0] = static_cast<std::byte>(first_byte);
  return bytes;
}

Bytes raw(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Bytes close_frame(unsigned code, const std::string& reason = {}) {
  return frame(0x88, std::string{static_cast<char>(code >> 8), static_cast<char>(code)} + reason);
}

Bytes join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct Case {
  const char* claim;
  Bytes bytes;
};

std::vector<Case> sound_cases() {
  return {
      {"text", frame(0x81, "hé")},
      {"binary of every byte", frame(0x82, every_byte())},
      {"empty", frame(0x81, "")},
      {"126 bytes", frame(0x82, std::string(126, 'x'))},
      {"just at the limit", frame(0x82, std::string(1000, 'x'))},
      {"fragments", join({frame(0x01, "a"), frame(0x00, ""), frame(0x80, "b")})},
      {"a character cut by a fragment", join({frame(0x01, "\xc3"), frame(0x80, "\xa9")})},
      {"a ping inside a message",
       join({frame(0x01, "a"), frame(0x89, "p"), frame(0x8a, "q"), frame(0x80, "b")})},
      {"half a frame", raw({0x81, 0x85, 0, 0, 0, 0, 'a'})},
      {"a close without a code", frame(0x88, "")},
      {"a close with a reason", close_frame(1000, "bye")},
      {"a close of an application", close_frame(4000)},
      {"a close behind a message", join({frame(0x81, "a"), close_frame(1001)})},
  };
}

std::vector<Case> unsound_cases() {
  std::vector<Case> cases{
      {"first reserved bit", frame(0xc1, "x")},
      {"second reserved bit", frame(0xa1, "x")},
      {"third reserved bit", frame(0x91, "x")},
      {"reserved bit of a ping", frame(0xc9, "x")},
      {"not masked", frame(0x81, "x", false)},
      {"a fragmented ping", frame(0x09, "x")},
      {"a long ping", frame(0x89, std::string(126, 'x'))},
      {"a continuation of nothing", frame(0x80, "x")},
      {"a message inside another", join({frame(0x01, "x"), frame(0x81, "y")})},
      {"125 in two bytes", join({raw({0x82, 0xfe, 0, 125, 0, 0, 0, 0}), Bytes(125)})},
      {"65535 in eight bytes", raw({0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0})},
      {"one byte above the limit", frame(0x82, std::string(1001, 'x'))},
      {"above the limit in fragments",
       join({frame(0x02, std::string(600, 'x')), frame(0x80, std::string(600, 'x'))})},
      {"text that is not UTF-8", frame(0x81, "\xff")},
      {"an overlong slash", frame(0x81, "\xc0\xaf")},
      {"a surrogate", frame(0x81, "\xed\xa0\x80")},
      {"text that ends inside a character", frame(0x81, "\xe2\x82")},
      {"a close of one byte", frame(0x88, "\x03")},
  };
  for (const int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    cases.push_back(
        {"an opcode without meaning", frame(static_cast<std::uint8_t>(0x80 | opcode), "x")});
  }
  for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1015U}) {
    cases.push_back({"a close code that must not be sent", close_frame(code)});
  }
  return cases;
}

}  // namespace

TEST_CASE("a Beast client and our server exchange messages of every length") {
  EchoServer server;
  BeastClient client(server);
  CHECK(client.protocol == "spotmesh.v1");
  for (const std::size_t bytes : {0, 1, 2, 125, 126, 127, 128, 65'535, 65'536, 1'000'000}) {
    INFO(bytes);
    CHECK(client.echo(text_of(bytes), true) == text_of(bytes));
    CHECK(client.echo(std::string(bytes, '\xff'), false) == std::string(bytes, '\xff'));
  }
  CHECK(client.echo(every_byte(), false) == every_byte());
}

TEST_CASE("a Beast client's fragments, and pings among them, are understood") {
  EchoServer server;
  BeastClient client(server);
  std::vector<std::string> pongs;
  client.socket.control_callback([&](websocket::frame_type kind, beast::string_view payload) {
    if (kind == websocket::frame_type::pong) pongs.emplace_back(payload);
  });
  const std::string text = text_of(10'000);
  client.socket.text(true);
  for (std::size_t at = 0; at < text.size(); at += 999) {
    const std::string part = text.substr(at, 999);
    client.socket.write_some(at + 999 >= text.size(), asio::buffer(part));
    if (at + 999 < text.size()) client.socket.ping(websocket::ping_data(std::to_string(at)));
  }
  CHECK(client.read(true) == text);
  CHECK(pongs.size() == 10);
  CHECK(pongs.back() == "8991");
  client.socket.auto_fragment(true);
  client.socket.write_buffer_bytes(64);
  CHECK(client.echo(text, true) == text);
}

TEST_CASE("a Beast client hears why it is closed, and its own close comes back") {
  EchoServer server;
  {
    BeastClient client(server);
    client.socket.text(true);
    client.socket.write(asio::buffer("\xff", 1));
    CHECK(client.read_close() == 1007);
    CHECK(client.socket.reason().reason == "text message is not UTF-8 at byte 0");
  }
  {
    BeastClient client(server);
    client.socket.write(asio::buffer(std::string(longest_message + 1, 'x')));
    CHECK(client.read_close() == 1009);
  }
  {
    BeastClient client(server);
    client.socket.close({websocket::close_code(4321), "bye"});
    CHECK(client.socket.reason().code == 4321);
  }
}

TEST_CASE("our client and a Beast server understand each other") {
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  unsigned close_seen = 0;
  // A one-way packet that comes back is a push.
  std::thread server([&] {
    BeastStream socket(acceptor.accept());
    socket.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
      response.set(beast::http::field::sec_websocket_protocol, "spotmesh.v1.json");
    }));
    socket.accept();
    socket.auto_fragment(true);
    socket.write_buffer_bytes(128);
    error_code error;
    while (!error) {
      beast::flat_buffer buffer;
      socket.read(buffer, error);
      if (error) break;
      socket.text(socket.got_text());
      socket.ping("among fragments");
      socket.write(buffer.data());
    }
    close_seen = error == websocket::error::closed ? socket.reason().code : 0;
  });
  auto client = client::Client::open(
      {.url = "ws://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()),
       .form = client::Form::Json,
       .packets = zoo::packets()});
  REQUIRE(client);
  std::vector<std::string> heard;
  client->on_push<zoo::Fish>([&](const zoo::Fish& fish) { heard.push_back(fish.name); });
  std::vector<std::string> said;
  for (const std::size_t bytes : {0, 1, 100, 200, 60'000}) {
    said.push_back(text_of(bytes));
    REQUIRE(client->send(zoo::Fish{.name = said.back(), .tank = {}}));
  }
  const auto poll_until = [&](const auto& is_so) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (!is_so() && std::chrono::steady_clock::now() < give_up) {
      client->poll(std::chrono::milliseconds(100));
    }
    return is_so();
  };
  CHECK(poll_until([&] { return heard.size() == said.size(); }));
  CHECK(heard == said);
  REQUIRE(client->close(4321, "enough"));
  CHECK(poll_until([&] { return client->state() == client::State::Ended; }));
  CHECK(client->ending()->code == 4321);
  server.join();
  CHECK(close_seen == 4321);
}

TEST_CASE("what is sound to Beast is sound to us, and means the same") {
  for (const Case& one : sound_cases()) {
    INFO(one.claim);
    const Verdict ours = our_verdict(one.bytes);
    CHECK(ours == verdict_of_beast(one.bytes));
    CHECK(ours.back().find("refused") == std::string::npos);
  }
}

TEST_CASE("what breaks RFC 6455 is refused by Beast and by us, with the same code") {
  for (const Case& one : unsound_cases()) {
    INFO(one.claim);
    const Verdict ours = our_verdict(one.bytes);
    CHECK(ours == verdict_of_beast(one.bytes));
    CHECK(ours.back().find("refused") != std::string::npos);
  }
}

TEST_CASE("a close reason that is not UTF-8 is refused by both, by us as section 8.1 says") {
  const Bytes bytes = close_frame(1000, "\xff");
  CHECK(our_verdict(bytes) == Verdict{"refused 1007"});
  CHECK(verdict_of_beast(bytes) == Verdict{"refused 1002"});
}

// The simulated client against a server that does as the test says.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include <spotmesh/testing/sim_stream_client.hpp>

#include "stream/client_links.hpp"
#include "support/manual_time.hpp"
#include "testing/sim_client_links.hpp"
#include "testing/stream_client_end.hpp"
#include "wire/websocket.hpp"
#include "wire/websocket_decoder.hpp"
#include "zoo.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::testing;

namespace {

class ScriptedEnd final : public stream::ClientLinkHandler {
 public:
  explicit ScriptedEnd(stream::ClientLink& link) : link_(link) {}
  void on_bytes(ByteView bytes) override {
    while (true) {
      const auto event = decoder_.next(bytes);
      if (event.kind == wire::WebSocketEvent::Kind::NeedMoreBytes) return;
      REQUIRE(event.kind != wire::WebSocketEvent::Kind::Failed);
      if (event.kind == wire::WebSocketEvent::Kind::Text) {
        heard.emplace_back(as_text(event.payload));
      }
      if (event.kind == wire::WebSocketEvent::Kind::Pong) ++pongs;
      if (event.kind == wire::WebSocketEvent::Kind::Close) closes.push_back(event.close.reason);
    }
  }
  void on_drained() override {}
  void on_closed(std::string_view) override { is_closed = true; }

  void say(std::string_view text, wire::WebSocketOpcode opcode = wire::WebSocketOpcode::Text) {
    Bytes frame;
    wire::append_frame(frame, opcode, as_bytes(text));
    link_.send({SharedBytes(std::move(frame))});
  }
  void close(wire::CloseCode code, std::string_view reason) {
    Bytes frame;
    wire::append_close_frame(frame, code, reason);
    link_.send({SharedBytes(std::move(frame))});
    link_.close_after_flush();
  }

  std::vector<std::string> heard;
  std::vector<std::string> closes;
  int pongs = 0;
  bool is_closed = false;

 private:
  stream::ClientLink& link_;
  wire::WebSocketDecoder decoder_{{.role = wire::WebSocketRole::Server}};
};

struct ScriptedServer : stream::LinkAcceptor {
  ScriptedServer() : random(1), links(time, random) { REQUIRE(links.listen({}, *this)); }
  Result<std::shared_ptr<stream::ClientLinkHandler>> on_link(stream::ClientLink& link,
                                                             const stream::LinkInfo&) override {
    end = std::make_shared<ScriptedEnd>(link);
    return end;
  }
  SimStreamClient connect() {
    auto client = connect_stream_client(links, random, std::make_shared<wire::PacketCatalog>());
    REQUIRE(client);
    return *std::move(client);
  }

  ManualTime time;
  TestRandom random;
  SimClientLinks links;
  std::shared_ptr<ScriptedEnd> end;
};

}  // namespace

TEST_CASE("a simulated client sends typed packets and tells replies apart by their seq") {
  ScriptedServer server;
  SimStreamClient client = server.connect();
  std::vector<std::string> answers;
  const auto note = [&](const std::string& which) {
    return [&answers, which](const Result<zoo::Empty>& reply) {
      answers.push_back(which + (reply ? " fine" : " " + reply.error().message()));
    };
  };
  client.request<zoo::Empty>(zoo::Empty{}, note("one"));
  client.request<zoo::Empty>(zoo::Empty{}, note("two"));
  client.send(zoo::Empty{});
  server.time.run_all();
  CHECK(server.end->heard ==
        std::vector<std::string>{R"({"seq":1,"packet":"zoo.Empty","payload":{}})",
                                 R"({"seq":2,"packet":"zoo.Empty","payload":{}})",
                                 R"({"packet":"zoo.Empty","payload":{}})"});
  CHECK(client.unanswered_requests() == 2);
  server.end->say(R"({"reply_to":2,"error":{"kind":"Rejected","code":4,"message":"no"}})");
  server.end->say(R"({"reply_to":1,"packet":"zoo.Empty"})");
  server.time.run_all();
  CHECK(answers == std::vector<std::string>{"two no", "one fine"});
}

TEST_CASE("pushes go to the handler of their packet, others to the one for all others") {
  ScriptedServer server;
  SimStreamClient client = server.connect();
  int empties = 0;
  client.on_push<zoo::Empty>([&](const zoo::Empty&) { ++empties; });
  server.end->say(R"({"packet":"zoo.Empty"})");
  server.end->say(R"({"packet":"zoo.Lion","payload":{"roar":3}})");  // nobody asked for it
  server.time.run_all();
  CHECK(empties == 1);
  CHECK(client.pushes_received() == 2);
  CHECK(client.is_open());
}

TEST_CASE("a server that breaks the protocol is given up with what it did") {
  ScriptedServer server;
  SimStreamClient client = server.connect();
  const auto [text, fault] = GENERATE(table<std::string, std::string>({
      {"nonsense", "JSON"},
      {R"({"reply_to":9,"packet":"zoo.Empty"})", "a reply to request 9, which has none due"},
      {R"({"packet":"zoo.Empty","seq":1})", "unknown field 'seq'"},
  }));
  server.end->say(text);
  server.time.run_all();
  REQUIRE(client.close_seen());
  CHECK(client.close_seen()->code == 1002);
  CHECK_THAT(client.close_seen()->reason, Catch::Contains(fault));
  CHECK(server.end->is_closed);
}

TEST_CASE("requests that have no answer when the connection ends are Unavailable") {
  ScriptedServer server;
  SimStreamClient client = server.connect();
  std::vector<Error> errors;
  const auto note = [&](const Result<zoo::Empty>& reply) { errors.push_back(reply.error()); };
  int closes = 0;
  client.on_close([&](const ClientClose& close) {
    ++closes;
    CHECK(close.code == 4000);
    CHECK(close.reason == "enough");
  });
  client.request<zoo::Empty>(zoo::Empty{}, note);
  server.time.run_all();
  server.end->close(wire::CloseCode::Disconnected, "enough");
  server.time.run_all();
  CHECK(closes == 1);
  client.request<zoo::Empty>(zoo::Empty{}, note);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].kind() == ErrorKind::Unavailable);
  CHECK_THAT(errors[0].message(), Catch::Contains("4000 (enough)"));
  CHECK(errors[1].kind() == ErrorKind::Unavailable);
}

TEST_CASE("a simulated client answers pings until it is told not to") {
  ScriptedServer server;
  SimStreamClient client = server.connect();
  server.end->say("are you there", wire::WebSocketOpcode::Ping);
  server.time.run_all();
  CHECK(server.end->pongs == 1);
  client.stop_answering();
  server.end->say("and now", wire::WebSocketOpcode::Ping);
  server.time.run_all();
  CHECK(server.end->pongs == 1);
  CHECK(client.pings_received() == 2);
}

TEST_CASE("a simulated client that is destroyed resets its connection") {
  ScriptedServer server;
  {
    SimStreamClient client = server.connect();
    client.close(1000, "bye");
    server.time.run_all();
    CHECK(server.end->closes == std::vector<std::string>{"bye"});
  }
  server.time.run_all();
  CHECK(server.end->is_closed);
}

// Links over real loopback sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "unit/net/links_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;
using testing::BlockingClient;

namespace {

std::string repeated(std::size_t bytes, char first = 'a') {
  std::string text(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(first + i % 23);
  return text;
}

}  // namespace

TEST_CASE("an opening becomes a link that carries bytes both ways") {
  TestServer server;
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(upgrade_request()));
  const auto response = client.receive_until("\r\n\r\n");
  CHECK(response.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  CHECK(response.find("Sec-WebSocket-Accept: " + std::string(rfc_accept)) != std::string::npos);
  CHECK(response.find("Sec-WebSocket-Protocol: spotmesh.v1.json\r\n") != std::string::npos);

  const auto handler = server.acceptor.handler(0);
  CHECK(handler->info().framing == stream::LinkInfo::Framing::WebSocket);
  CHECK(handler->info().subprotocol == "spotmesh.v1.json");
  CHECK(handler->info().path == "/stream");
  CHECK(handler->info().remote_address.starts_with("127.0.0.1:"));

  REQUIRE(client.send("hello"));
  CHECK(handler->wait_received("hello"));
  handler->send({"good ", "", "day"});
  CHECK(client.receive_exactly(8) == "good day");

  client.close();
  REQUIRE(handler->wait_closed());
  CHECK(handler->seen().reason == "closed by peer");
  CHECK(handler->seen().closed == 1);
}

TEST_CASE("bytes that came with the request are the first the link reads") {
  TestServer server;
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(upgrade_request() + "early"));
  client.receive_until("\r\n\r\n");
  REQUIRE(client.send(" bird"));
  CHECK(server.acceptor.handler(0)->wait_received("early bird"));
}

TEST_CASE("what is sent from within on_link follows the opening's response") {
  TestServer server;
  std::atomic<std::size_t> unsent{0};
  server.acceptor.on_accepted = [&](stream::ClientLink& link) {
    link.send(batch_of({"welcome"}));
    unsent = link.unsent_bytes();
  };
  server.start();
  auto client = server.open_link();
  CHECK(client.receive_exactly(7) == "welcome");
  CHECK(unsent == 7);
}

TEST_CASE("a query does not change the path, and another path is no link") {
  TestServer server({}, {.path = "/play"});
  server.start();
  auto request = upgrade_request();
  request.replace(request.find("/stream"), 7, "/play?token=1");
  auto client = server.connect();
  REQUIRE(client.send(request));
  CHECK(client.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  CHECK(server.acceptor.handler(0)->info().path == "/play");
  auto other = server.connect();
  REQUIRE(other.send(upgrade_request()));
  CHECK(other.receive_until("\r\n\r\n").starts_with("HTTP/1.1 404 "));
}

TEST_CASE("an error of the acceptor is what the client is told") {
  struct Case {
    Error error;
    std::string_view status;
  };
  for (const Case& wrong :
       {Case{Error::capacity_exceeded("10000 clients are connected"), "HTTP/1.1 503 "},
        Case{Error::shutting_down("this node drains"), "HTTP/1.1 503 "},
        Case{Error::rejected("not today"), "HTTP/1.1 403 "}}) {
    TestServer server;
    server.acceptor.refusal = wrong.error;
    server.start();
    auto client = server.connect();
    REQUIRE(client.send(upgrade_request()));
    const auto response = client.receive_all();
    CHECK(response.starts_with(wrong.status));
    CHECK(response.find(wrong.error.message()) != std::string::npos);
  }
}

TEST_CASE("sends from many threads arrive whole and in each sender's order") {
  TestServer server;
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  constexpr int senders = 4;
  constexpr int each = 500;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < senders; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < each; ++i) {
          const std::string line = std::to_string(t) + ' ' + std::to_string(i) + '\n';
          handler->send({line.substr(0, 2), line.substr(2)});
        }
      });
    }
  }
  std::vector<int> next(senders, 0);
  for (int i = 0; i < senders * each; ++i) {
    const auto line = client.receive_until("\n");
    REQUIRE(line.size() >= 4);
    const auto sender = static_cast<std::size_t>(line[0] - '0');
    REQUIRE(std::stoi(line.substr(2)) == next.at(sender)++);
  }
}

TEST_CASE("a backlog waits for a slow reader, whole, and on_drained tells when it is gone") {
  TestServer server;
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  const std::string large = repeated(16 * 1024 * 1024);
  handler->send({large, "end"});
  CHECK(handler->unsent_bytes() > 0);
  CHECK(client.receive_exactly(large.size()) == large);
  CHECK(client.receive_exactly(3) == "end");
  REQUIRE(handler->wait_until([](const auto& seen) { return seen.drained != 0; }));
  CHECK(handler->seen().drained == 1);
  while (handler->unsent_bytes() != 0) std::this_thread::yield();

  // A backlog that never was large does not count.
  handler->send({"small"});
  CHECK(client.receive_exactly(5) == "small");
  CHECK(handler->seen().drained == 1);
}

TEST_CASE("what a client does not read is counted, and abort drops it at once") {
  TestServer server;
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  const std::string megabyte = repeated(1024 * 1024);
  constexpr std::size_t sent = 64;
  for (std::size_t i = 0; i < sent; ++i) handler->send({megabyte});
  // The system takes a few megabytes for a client that does not read, not all.
  CHECK(handler->unsent_bytes() > sent * 1024 * 1024 / 2);
  CHECK(handler->unsent_bytes() <= sent * 1024 * 1024);
  handler->abort();
  REQUIRE(handler->wait_closed());
  CHECK(handler->seen().reason == "aborted");
  CHECK(client.is_closed_by_server());
  while (server.links.connections() != 0) std::this_thread::yield();
}

TEST_CASE(
    "close_after_flush delivers everything before the end, also to a client that still sends") {
  TestServer server;
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  handler->pause_reading();
  // Unread input would make a plain close reset the connection and lose what is on its way.
  REQUIRE(client.send(repeated(20'000)));
  const std::string farewell = repeated(3 * 1024 * 1024);
  handler->send({farewell});
  handler->close_after_flush();
  handler->send({"after the end"});
  handler->close_after_flush();
  CHECK(client.receive_all() == farewell);
  client.close();
  REQUIRE(handler->wait_closed());
  while (server.links.connections() != 0) std::this_thread::yield();
  CHECK(handler->seen().reason == "closed");
  CHECK(handler->seen().closed == 1);
}

TEST_CASE("close_after_flush gives up on a client that does not read") {
  TestServer server({.flush_time = 100ms});
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  handler->send({repeated(32 * 1024 * 1024)});
  handler->close_after_flush();
  REQUIRE(handler->wait_closed());
  CHECK(handler->seen().reason == "closed; the client did not read what was left");
  CHECK(client.is_closed_by_server());
}

TEST_CASE("a client that keeps its end open after a close is not waited for") {
  TestServer server({.linger_time = 50ms});
  server.start();
  auto client = server.open_link();
  server.acceptor.handler(0)->close_after_flush();
  CHECK(client.receive_all().empty());
  while (server.links.connections() != 0) std::this_thread::yield();
  CHECK(server.acceptor.handler(0)->seen().closed == 1);
}

TEST_CASE("a reset ends a link once, and says so") {
  TestServer server;
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  client.reset();
  REQUIRE(handler->wait_closed());
  CHECK(handler->seen().reason == "Connection reset by peer");
  CHECK(handler->seen().closed == 1);
}

TEST_CASE("a link can be ended from within on_link") {
  for (const bool at_once : {true, false}) {
    TestServer server;
    server.acceptor.on_accepted = [at_once](stream::ClientLink& link) {
      link.send(batch_of({"bye"}));
      at_once ? link.abort() : link.close_after_flush();
    };
    server.start();
    auto client = server.connect();
    REQUIRE(client.send(upgrade_request()));
    const auto received = client.receive_all();
    client.close();
    const auto handler = server.acceptor.handler(0);
    REQUIRE(handler->wait_closed());
    if (at_once) {
      CHECK(received.empty());
      CHECK(handler->seen().reason == "aborted");
    } else {
      CHECK(received.starts_with("HTTP/1.1 101 "));
      CHECK(received.ends_with("\r\n\r\nbye"));
      CHECK(handler->seen().reason == "closed");
    }
  }
}

TEST_CASE("calls for one link come one at a time, and none inside a call of the link") {
  TestServer server;
  server.acceptor.on_bytes = [](stream::ClientLink& link, std::string_view bytes) {
    link.pause_reading();
    link.send({SharedBytes::copy_of(as_bytes(bytes))});
    link.resume_reading();
    if (bytes.find('!') != std::string_view::npos) link.close_after_flush();
  };
  server.start();
  constexpr std::size_t clients = 16;
  {
    std::vector<std::jthread> threads;
    std::atomic<std::size_t> good{0};
    for (std::size_t i = 0; i < clients; ++i) {
      threads.emplace_back([&] {
        BlockingClient client(server.port);
        client.send(upgrade_request());
        client.receive_until("\r\n\r\n");
        bool all_came_back = true;
        for (int round = 0; round < 100; ++round) {
          client.send("ping");
          all_came_back = client.receive_exactly(4) == "ping" && all_came_back;
        }
        client.send("!");
        if (all_came_back && client.receive_all() == "!") ++good;
      });
    }
    threads.clear();
    CHECK(good == clients);
  }
  for (const auto& handler : server.acceptor.handlers()) {
    REQUIRE(handler->wait_closed());
    CHECK(handler->seen().closed == 1);
    CHECK_FALSE(handler->has_overlapped());
  }
}

TEST_CASE("a link may be used from any thread while its client disappears") {
  TestServer server;
  server.start();
  for (int round = 0; round < 30; ++round) {
    auto client = server.open_link();
    const auto handler = server.acceptor.handler(static_cast<std::size_t>(round));
    std::vector<std::jthread> users;
    for (int t = 0; t < 3; ++t) {
      users.emplace_back([&, t] {
        while (handler->send({"some text"})) {
          if (t == 0) handler->unsent_bytes();
          if (t == 1) handler->pause_reading();
          handler->resume_reading();
        }
      });
    }
    client.receive_exactly(9'000);
    round % 2 == 0 ? client.reset() : client.close();
    users.clear();
    REQUIRE(handler->wait_closed());
    CHECK(handler->seen().closed == 1);
    CHECK_FALSE(handler->has_overlapped());
  }
}

TEST_CASE("no program that the game starts inherits the port or a client") {
  TestServer server;
  server.start();
  const auto client = server.open_link();
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    sockaddr_in local{};
    socklen_t size = sizeof local;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &size) != 0) continue;
    if (ntohs(local.sin_port) != server.port) continue;
    ++sockets;
    CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(sockets == 2);
}

TEST_CASE("many clients that come and go leave nothing behind") {
  TestServer server;
  server.start();
  constexpr int threads = 4;
  constexpr int each = 60;
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < threads; ++t) {
      clients.emplace_back([&, t] {
        for (int i = 0; i < each; ++i) {
          BlockingClient client(server.port);
          client.send(upgrade_request());
          if ((i + t) % 4 == 0) continue;  // goes before it is answered
          client.receive_until("\r\n\r\n");
          client.send("x");
          if ((i + t) % 4 == 1) client.reset();
        }
      });
    }
  }
  while (server.links.connections() != 0) std::this_thread::yield();
  const auto handlers = server.acceptor.handlers();
  CHECK(handlers.size() >= threads * each * 3 / 4);
  for (const auto& handler : handlers) CHECK(handler->seen().closed == 1);
}

TEST_CASE("close ends links and openings in whatever state they are") {
  TestServer server;
  server.start();
  auto idle = server.open_link();
  auto backlogged = server.open_link();
  server.acceptor.handler(1)->send({repeated(32 * 1024 * 1024)});
  auto paused = server.open_link();
  server.acceptor.handler(2)->pause_reading();
  auto closing = server.open_link();
  server.acceptor.handler(3)->send({repeated(32 * 1024 * 1024)});
  server.acceptor.handler(3)->close_after_flush();
  auto lingering = server.open_link();
  server.acceptor.handler(4)->close_after_flush();
  REQUIRE(server.acceptor.handler(4)->wait_closed());
  auto silent = server.connect();
  auto halfway = server.connect();
  REQUIRE(halfway.send("GET /stream HTT"));
  server.links.close();
  CHECK(server.links.connections() == 0);
  for (const auto& handler : server.acceptor.handlers()) CHECK(handler->seen().closed == 1);
  for (auto* client : {&idle, &backlogged, &paused, &closing, &silent, &halfway}) {
    CHECK(client->is_closed_by_server());
  }
  CHECK_FALSE(BlockingClient(server.port).is_open());
}

TEST_CASE("after stop_listening nobody new comes in, and live links stay") {
  TestServer server;
  server.start();
  auto live = server.open_link();
  auto asking = server.connect();
  REQUIRE(asking.send("GET /str"));
  while (server.links.connections() != 2) std::this_thread::yield();
  server.links.stop_listening();
  CHECK_FALSE(BlockingClient(server.port).is_open());
  REQUIRE(asking.send(upgrade_request().substr(8)));
  const auto answer = asking.receive_all();
  CHECK(answer.starts_with("HTTP/1.1 503 "));
  CHECK(answer.find("ShuttingDown") != std::string::npos);
  const auto handler = server.acceptor.handler(0);
  REQUIRE(live.send("still here"));
  CHECK(handler->wait_received("still here"));
  handler->send({"so are we"});
  CHECK(live.receive_exactly(9) == "so are we");
  CHECK(server.acceptor.handlers().size() == 1);
}

TEST_CASE("an address that cannot be bound is named") {
  TestServer server;
  server.start();
  stream::ListenOptions taken{.port = server.port};
  const auto refused = server.links.listen(taken, server.acceptor);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::Unavailable);
  CHECK(refused.error().message().find("127.0.0.1:" + std::to_string(server.port)) !=
        std::string::npos);
  const auto unknown = server.links.listen({.host = "no such host"}, server.acceptor);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message().find("no such host") != std::string::npos);
}

TEST_CASE("one listener more, by name and by IPv6 address, serves the same links") {
  TestServer server;
  server.start();
  const auto second = server.links.listen({.host = "localhost"}, server.acceptor);
  REQUIRE(second);
  CHECK(*second != server.port);
}

TEST_CASE("links of a worker that is stuck in a runnable are served by another") {
  TestServer server;
  server.acceptor.on_bytes = [](stream::ClientLink& link, std::string_view bytes) {
    link.send({SharedBytes::copy_of(as_bytes(bytes))});
  };
  server.start();
  // Enough that both workers have some.
  std::vector<BlockingClient> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(server.open_link());

  class Stuck final : public runtime::Runnable {
   public:
    After run() override {
      is_running.raise();
      is_released = release.wait();
      return After::Idle;
    }
    Signal is_running;
    Signal release;
    std::atomic<bool> is_released{false};
  } stuck;
  server.pool.submit(stuck);
  REQUIRE(stuck.is_running.wait());
  for (int round = 0; round < 3; ++round) {
    for (auto& client : clients) {
      REQUIRE(client.send("ping"));
      REQUIRE(client.receive_exactly(4) == "ping");
    }
  }
  clients.push_back(server.open_link());  // new clients come in as well
  stuck.release.raise();
  clients.clear();
  server.links.close();
  server.pool.stop();
  CHECK(stuck.is_released);
}

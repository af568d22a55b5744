// Links that their server does not read for a while.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "unit/net/links_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::net;

TEST_CASE("a paused link reads no more than what was under way, and resumes where it stopped") {
  TestServer server;
  server.acceptor.on_bytes = [](stream::ClientLink& link, std::string_view) {
    link.pause_reading();
  };
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  // More than sockets and one read hold together, so the client is made to wait.
  std::string all(16 * 1024 * 1024, ' ');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>('a' + i % 23);
  std::jthread sender([&] { client.send(all); });
  bool is_whole = false;
  for (int reads = 1; !is_whole; ++reads) {
    bool is_paused_at_once = false;
    REQUIRE(handler->wait_until([&](const auto& seen) {
      is_paused_at_once = seen.reads <= reads;
      is_whole = seen.received.size() == all.size();
      return seen.reads >= reads;
    }));
    REQUIRE(is_paused_at_once);
    handler->resume_reading();
  }
  sender.join();
  CHECK(handler->seen().received == all);
}

TEST_CASE("what is sent to a client that has gone ends its link, though nobody reads from it") {
  TestServer server;
  server.acceptor.on_bytes = [](stream::ClientLink& link, std::string_view) {
    link.pause_reading();
  };
  server.start();
  auto client = server.open_link();
  const auto handler = server.acceptor.handler(0);
  client.send("one");
  REQUIRE(handler->wait_until([](const auto& seen) { return seen.reads == 1; }));
  SECTION("in order") { client.close(); }
  SECTION("with bytes that nobody has read") {
    client.send("two");
    client.close();
  }
  SECTION("by a reset") { client.reset(); }
  // The first one is answered by the client's system, later ones find the connection over.
  while (handler->send({"ping"})) std::this_thread::yield();
  REQUIRE(handler->wait_closed());
  CHECK(handler->seen().closed == 1);
}

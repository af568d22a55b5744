#include "client/client_url.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace spotmesh;
using client::parse_client_url;

TEST_CASE("an address names carrier, host, port and path, some of which may be left out") {
  const auto whole = parse_client_url("ws://game.example:8080/live/stream?x=1");
  REQUIRE(whole);
  CHECK(whole->is_web_socket);
  CHECK(whole->host == "game.example");
  CHECK(whole->port == 8080);
  CHECK(whole->authority == "game.example:8080");
  CHECK(whole->path == "/live/stream?x=1");

  const auto brief = parse_client_url("ws://game.example");
  REQUIRE(brief);
  CHECK(brief->port == 80);
  CHECK(brief->path == "/stream");

  const auto six = parse_client_url("tcp://[::1]:9000");
  REQUIRE(six);
  CHECK_FALSE(six->is_web_socket);
  CHECK(six->host == "::1");
  CHECK(six->authority == "[::1]:9000");
}

TEST_CASE("an address that is none is refused with what is wrong") {
  const auto [url, fault] = GENERATE(table<std::string, std::string>({
      {"", "does not begin with ws:// or tcp://"},
      {"wss://game.example", "does not begin with ws:// or tcp://"},
      {"ws://", "names no host"},
      {"ws://:80/stream", "names no host"},
      {"ws://[::1", "names no host"},
      {"ws://game:0/", "no port from 1 to 65535"},
      {"ws://game:65536/", "no port from 1 to 65535"},
      {"ws://game:80x/", "no port from 1 to 65535"},
      {"ws://[::1]80/", "no port from 1 to 65535"},
      {"tcp://game", "names no port"},
      {"tcp://game:9000/stream", "has a path"},
      {"ws://game/stream#top", "has a fragment"},
      {"ws://game/a b", "a space or a control character"},
      {"ws://game/\r\nHost: other", "a space or a control character"},
  }));
  const auto parsed = parse_client_url(url);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().kind() == ErrorKind::InvalidOperation);
  CHECK_THAT(parsed.error().message(), Catch::Contains(fault));
}

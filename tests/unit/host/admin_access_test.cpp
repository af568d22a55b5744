#include "host/admin_access.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace spotmesh;
using namespace spotmesh::host;
using net::HttpHeader;

namespace {

constexpr std::string_view token = "a-token-of-this-server";

unsigned status_of(std::vector<HttpHeader> headers, std::string_view expected,
                   unsigned version = 11) {
  net::RequestHead request{.method = "GET", .target = "/", .version = version};
  request.headers = std::move(headers);
  const auto refused = judge_admin_access(request, expected);
  if (!refused) return 200;
  CHECK_FALSE(refused->text.empty());
  CHECK(refused->text.find(token) == std::string::npos);
  return refused->status;
}

unsigned with_token(const std::string& authorization) {
  return status_of({{"Host", "x"}, {"Authorization", authorization}}, token);
}

unsigned at_loopback(const std::string& host) { return status_of({{"Host", host}}, ""); }

}  // namespace

TEST_CASE("with a token, exactly it is let in") {
  CHECK(with_token("Bearer " + std::string(token)) == 200);
  CHECK(with_token("bearer " + std::string(token)) == 200);
  CHECK(with_token("Bearer " + std::string(token) + "x") == 401);
  CHECK(with_token("Bearer a-token-of-this-serve") == 401);
  CHECK(with_token("Bearer b-token-of-this-server") == 401);
  CHECK(with_token("Bearer " + std::string(token) + std::string(token)) == 401);
  CHECK(with_token("Bearer") == 401);
  CHECK(with_token("Bearer ") == 401);
  CHECK(with_token("Basic " + std::string(token)) == 401);
  CHECK(with_token(std::string(token)) == 401);
  CHECK(status_of({{"Host", "x"}}, token) == 401);
  const std::string right = "Bearer " + std::string(token);
  CHECK(status_of({{"Host", "x"}, {"Authorization", right}, {"authorization", right}}, token) ==
        401);
}

TEST_CASE("without a token, a request must name this machine") {
  for (const std::string host : {"localhost", "LOCALHOST:9464", "127.0.0.1", "127.0.0.1:1",
                                 "127.9.9.9", "[::1]", "[::1]:9464"}) {
    CAPTURE(host);
    CHECK(at_loopback(host) == 200);
  }
  for (const std::string host : {"game.example", "localhost.game.example:9464", "10.0.0.1", "",
                                 "127.0.0.1.game.example", "[::2]", "[::1", "0.0.0.0"}) {
    CAPTURE(host);
    CHECK(at_loopback(host) == 403);
  }
  CHECK(status_of({}, "") == 400);
  CHECK(status_of({{"Host", "localhost"}, {"Host", "localhost"}}, "") == 400);
  CHECK(status_of({}, "", 10) == 200);
  CHECK(status_of({{"Host", "game.example"}}, "", 10) == 403);
}

TEST_CASE("without a token, no page of another origin is let in") {
  const auto from = [](const std::string& origin) {
    return status_of({{"Host", "127.0.0.1:9464"}, {"Origin", origin}}, "");
  };
  CHECK(from("http://127.0.0.1:9464") == 200);
  CHECK(from("http://127.0.0.1:8080") == 403);
  CHECK(from("http://game.example") == 403);
  CHECK(from("https://127.0.0.1:9464") == 403);
  CHECK(from("null") == 403);
  CHECK(from("") == 403);
}

TEST_CASE("without a token, no page of another origin shows the endpoint in itself") {
  const auto from = [](const std::string& site) {
    return status_of({{"Host", "127.0.0.1:9464"}, {"Sec-Fetch-Site", site}}, "");
  };
  CHECK(from("none") == 200);
  CHECK(from("same-origin") == 200);
  // A page on another port of this machine is of the same site.
  CHECK(from("same-site") == 403);
  CHECK(from("cross-site") == 403);
  CHECK(from("") == 403);
  CHECK(status_of({{"Host", "127.0.0.1"},
                   {"Sec-Fetch-Site", "cross-site"},
                   {"Authorization", "Bearer a-token"}},
                  "a-token") == 200);
}

TEST_CASE("texts are equal in constant time when they are equal") {
  CHECK(equal_in_constant_time("", ""));
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK_FALSE(equal_in_constant_time("", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", ""));
  CHECK_FALSE(equal_in_constant_time("abcabc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abcabc"));
  CHECK_FALSE(equal_in_constant_time("abd", "abc"));
}

TEST_CASE("loopback is 127.0.0.0/8 and ::1") {
  CHECK(is_loopback_address("127.0.0.1"));
  CHECK(is_loopback_address("127.255.255.254"));
  CHECK(is_loopback_address("::1"));
  CHECK(is_loopback_address("0:0:0:0:0:0:0:1"));
  CHECK_FALSE(is_loopback_address("128.0.0.1"));
  CHECK_FALSE(is_loopback_address("::"));
  CHECK_FALSE(is_loopback_address("0.0.0.0"));
  CHECK_FALSE(is_loopback_address("localhost"));
  CHECK_FALSE(is_loopback_address(""));
}

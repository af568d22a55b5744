#include "host/origin.hpp"

#include <catch2/catch.hpp>
#include <string>

#include <spotmesh/settings.hpp>

#include "host/host_settings.hpp"

using namespace spotmesh;
using Catch::Contains;
using host::validate_origin;

TEST_CASE("what browsers send as the origin of a page may be allowed") {
  for (const auto* origin :
       {"https://game.example", "http://localhost:3000", "HTTPS://Game.Example", "http://10.0.0.7",
        "http://[::1]:8080", "http://[::1]", "https://xn--bcher-kva.example", "null",
        "chrome-extension://abcdefgh", "http://game.example:443"}) {
    INFO(origin);
    CHECK(validate_origin(origin));
  }
}

TEST_CASE("an origin that no page can have is refused, with the reason") {
  const auto reason = [](std::string_view origin) {
    const auto outcome = validate_origin(origin);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().kind() == ErrorKind::InvalidOperation);
    return outcome.error().message();
  };
  CHECK_THAT(reason("https://game.example/"), Contains("it has a path"));
  CHECK_THAT(reason("https://game.example?x"), Contains("it has a path"));
  CHECK_THAT(reason("game.example"), Contains("scheme"));
  CHECK_THAT(reason("://game.example"), Contains("scheme"));
  CHECK_THAT(reason(" https://game.example"), Contains("scheme"));
  CHECK_THAT(reason(""), Contains("scheme"));
  CHECK_THAT(reason("*"), Contains("leave the list empty"));
  CHECK_THAT(reason("https://"), Contains("no such host"));
  CHECK_THAT(reason("https://*.game.example"), Contains("no such host"));
  CHECK_THAT(reason("https://game.example "), Contains("no such host"));
  CHECK_THAT(reason("https://ann@game.example"), Contains("no such host"));
  CHECK_THAT(reason("https://b\u00fccher.example"), Contains("no such host"));
  CHECK_THAT(reason("https://game.example:"), Contains("no number"));
  CHECK_THAT(reason("https://game.example:https"), Contains("no number"));
  CHECK_THAT(reason("https://game.example:443"), Contains("leave :443 out"));
  CHECK_THAT(reason("http://game.example:80"), Contains("leave :80 out"));
}

TEST_CASE("an origin that no page can have stops the start") {
  Settings good({"--stream.allowed_origins=https://a.example,http://localhost:3000"}, {});
  CHECK(host::read_host_settings(good).stream.allowed_origins.size() == 2);
  Settings bad({"--stream.allowed_origins=https://a.example, https://b.example"}, {});
  CHECK_THROWS_WITH(host::read_host_settings(bad),
                    Contains("stream.allowed_origins: ' https://b.example' is no origin"));
}

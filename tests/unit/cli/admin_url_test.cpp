#include "cli/admin_url.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace spotmesh;
using namespace spotmesh::cli;
using Catch::Matchers::Contains;

TEST_CASE("the address of an admin endpoint is taken apart") {
  const auto plain = parse_admin_url("http://127.0.0.1:9464/");
  REQUIRE(plain.has_value());
  CHECK(plain->host == "127.0.0.1");
  CHECK(plain->port == 9464);
  CHECK(plain->authority == "127.0.0.1:9464");
  const auto v6 = parse_admin_url("http://[::1]:80");
  REQUIRE(v6.has_value());
  CHECK(v6->host == "::1");
  CHECK(v6->authority == "[::1]:80");
  CHECK(parse_admin_url("http://node.example")->port == 9464);
}

TEST_CASE("what is no address of an admin endpoint is refused with what is wrong") {
  const auto why = [](const std::string& url) {
    const auto parsed = parse_admin_url(url);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(parsed.error().message(), Contains("http://HOST:PORT"));
    return parsed.error().message();
  };
  CHECK_THAT(why("127.0.0.1:9464"), Contains("does not begin with http://"));
  CHECK_THAT(why("https://a"), Contains("TLS"));
  CHECK_THAT(why("http://"), Contains("no host"));
  CHECK_THAT(why("http://a:0"), Contains("port"));
  CHECK_THAT(why("http://a:65536"), Contains("port"));
  CHECK_THAT(why("http://[::1"), Contains("bracket"));
  CHECK_THAT(why("http://a/v1/actors"), Contains("more than a host"));
  CHECK_THAT(why("http://me:secret@a"), Contains("more than a host"));
  CHECK_THAT(why("http://a\r\nX: y"), Contains("\\r\\n"));
}

TEST_CASE("an id is encoded so that no part of it is taken for a part of the target") {
  CHECK(percent_encoded("a/b?c=d&e%2F\n") == "a%2Fb%3Fc%3Dd%26e%252F%0A");
  CHECK(percent_encoded("..") == "%2E%2E");
  CHECK(percent_encoded("한") == "%ED%95%9C");
}

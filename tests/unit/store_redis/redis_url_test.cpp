#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "store/redis/redis_options.hpp"
#include "support/scratch_folder.hpp"

using namespace spotmesh;
using namespace spotmesh::testing;
using Catch::Matchers::Contains;
using store::parse_redis_url;
using store::RedisAddress;

TEST_CASE("a Redis URL names a server, a database and a prefix, each with a default") {
  const auto plain = parse_redis_url("redis://host");
  REQUIRE(plain);
  CHECK(plain->addresses == std::vector<RedisAddress>{{"host", 6379}});
  CHECK(plain->master_name.empty());
  CHECK(plain->database == 0);
  CHECK(plain->prefix == "spotmesh");
  const auto full = parse_redis_url("redis://[::1]:7000/3?prefix=game-1");
  REQUIRE(full);
  CHECK(full->addresses == std::vector<RedisAddress>{{"::1", 7000}});
  CHECK(to_string(full->addresses[0]) == "[::1]:7000");
  CHECK(full->database == 3);
  CHECK(full->prefix == "game-1");
}

TEST_CASE("a Sentinel URL names Sentinels and what they call the primary") {
  const auto parsed =
      parse_redis_url("redis+sentinel://one,two:26380/primary?prefix=game&database=2");
  REQUIRE(parsed);
  CHECK(parsed->addresses == std::vector<RedisAddress>{{"one", 26379}, {"two", 26380}});
  CHECK(parsed->master_name == "primary");
  CHECK(parsed->database == 2);
}

TEST_CASE("passwords come from files, without the end of their line") {
  ScratchFolder folder;
  const std::string file = folder.path() / "password";
  std::ofstream(file) << "open sesame\n";
  const auto parsed = parse_redis_url("redis://host?user=game&password_file=" + file);
  REQUIRE(parsed);
  CHECK(parsed->credentials.user == "game");
  CHECK(parsed->credentials.password == "open sesame");
  const auto sentinel = parse_redis_url("redis+sentinel://host/p?sentinel_password_file=" + file);
  REQUIRE(sentinel);
  CHECK(sentinel->sentinel_credentials.password == "open sesame");
  CHECK(sentinel->credentials.password.empty());
}

TEST_CASE("what is wrong with a Redis URL is said") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"redis:host", "begins with neither"},
      {"rediss://host", "TLS"},
      {"redis://", "no host"},
      {"redis://host:0", "no port"},
      {"redis://host:65536", "no port"},
      {"redis://host:", "no port"},
      {"redis://[::1", "closing bracket"},
      {"redis://[::1]x", "no address"},
      {"redis://one,two", "only Sentinels"},
      {"redis://host/game", "number of a database"},
      {"redis://host/99999", "number of a database"},
      {"redis://host?prefix=", "has no value"},
      {"redis://host?prefix", "has no value"},
      {"redis://host?prefix=a{b}", "prefix has"},
      {"redis://host?prefix=a&prefix=b", "stands twice"},
      {"redis://host?colour=red", "no parameter 'colour'"},
      {"redis://host?database=1", "no parameter 'database'"},
      {"redis://host?user=game", "has no password"},
      {"redis://host?password_file=/nowhere/file", "/nowhere/file"},
      {"redis+sentinel://host", "does not name the primary"},
      {"redis+sentinel://host/", "does not name the primary"},
      {"redis+sentinel://host/p?database=x", "number of a database"},
      {"redis+sentinel://a,/p", "no host"},
  };
  for (const auto& [url, reason] : wrong) {
    INFO(url);
    const auto parsed = parse_redis_url(url);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(parsed.error().message(), Contains(url) && Contains(reason));
  }
}

TEST_CASE("a password in the URL is refused, and not repeated") {
  for (const auto* url : {"redis://user:secret@host/0", "redis+sentinel://:secret@host/primary"}) {
    const auto parsed = parse_redis_url(url);
    REQUIRE_FALSE(parsed);
    CHECK_THAT(parsed.error().message(), Contains("password_file") && !Contains("secret"));
  }
}

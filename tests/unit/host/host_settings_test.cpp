#include "host/host_settings.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace spotmesh;
using namespace spotmesh::host;

TEST_CASE("clients may come over TCP where stream.tcp says, and nowhere by default") {
  Settings silent({}, {});
  CHECK_FALSE(read_host_settings(silent).stream.tcp.has_value());
  Settings flag({"--stream.tcp=[::]:7001"}, {});
  const auto settings = read_host_settings(flag);
  REQUIRE(settings.stream.tcp.has_value());
  CHECK(settings.stream.tcp->host == "::");
  CHECK(settings.stream.tcp->port == 7001);
  Settings wrong({"--stream.tcp=7001"}, {});
  CHECK_THROWS_WITH(read_host_settings(wrong),
                    Catch::StartsWith("stream.tcp: '7001' is not allowed; allowed: HOST:PORT"));
}

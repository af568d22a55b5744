#include "net/host_and_port.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace spotmesh;
using namespace spotmesh::net;

namespace {

std::string parsed(std::string_view text) {
  const auto address = parse_host_and_port(text);
  return address ? address->host + " " + std::to_string(address->port) : "refused";
}

}  // namespace

TEST_CASE("an address is a host and a port, with brackets around an IPv6 host") {
  CHECK(parsed("127.0.0.1:8081") == "127.0.0.1 8081");
  CHECK(parsed("localhost:0") == "localhost 0");
  CHECK(parsed("[::1]:65535") == "::1 65535");
  for (const char* text : {"127.0.0.1:8081", "localhost:0", "[::1]:65535"}) {
    CHECK(to_string(*parse_host_and_port(text)) == text);
  }
  for (const char* text :
       {"", ":", "8081", ":8081", "host:", "host:x", "host:-1", "host:+1", "host:65536", "host:1 ",
        "host: 1", "::1:80", "[host]:80", "[]:80", "[::1]", "[::1:80", "::1]:80"}) {
    INFO(text);
    CHECK(parsed(text) == "refused");
  }
}

#include "net/peer_names.hpp"

#include <catch2/catch.hpp>

using namespace spotmesh::net;

namespace {

std::string host_of(const char* address) {
  return counted_host(boost::asio::ip::make_address(address));
}

}  // namespace

TEST_CASE("connections are counted by IPv4 address, and by network of 64 bits of IPv6") {
  CHECK(host_of("203.0.113.9") == "203.0.113.9");
  CHECK(host_of("::ffff:203.0.113.9") == "203.0.113.9");
  CHECK(host_of("127.0.0.1") == "127.0.0.1");
  CHECK(host_of("::1") == "::1");
  CHECK(host_of("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(host_of("2001:db8:1:2:ffff::1") == host_of("2001:db8:1:2::7"));
  CHECK(host_of("2001:db8:1:3::1") != host_of("2001:db8:1:2::1"));
}

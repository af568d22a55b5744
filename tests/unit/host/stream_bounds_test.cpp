#include "host/stream_bounds.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include <spotmesh/limits.hpp>

using namespace spotmesh;
using namespace spotmesh::host;
using namespace std::chrono_literals;

namespace {

std::string counted(std::string_view text) { return counted_address(text).value_or("refused"); }

stream::StreamOptions read(std::vector<std::string> flags) {
  Settings settings(std::move(flags), {});
  const stream::StreamOptions bounds = read_stream_bounds(settings);
  settings.check();
  return bounds;
}

}  // namespace

TEST_CASE("the bounds of clients are those of the limits unless they are set") {
  const auto bounds = read({});
  CHECK(bounds.messages_per_second == limits::stream_messages_per_second);
  CHECK(bounds.byte_burst == limits::stream_byte_burst);
  CHECK(bounds.quota_patience == limits::stream_quota_patience);
  CHECK(bounds.outbound_age == limits::stream_outbound_age);
  CHECK(bounds.connections_per_address == limits::stream_connections_per_address);
  CHECK(bounds.handshake_timeout == limits::stream_handshake_timeout);
  CHECK(bounds.proxies == std::vector<std::string>{"127.0.0.1", "::1"});
}

TEST_CASE("each bound of clients has a setting") {
  const auto bounds = read(
      {"--stream.message_bytes=2048", "--stream.messages_per_second=7", "--stream.message_burst=8",
       "--stream.bytes_per_second=9", "--stream.byte_burst=4096", "--stream.quota_patience=11s",
       "--stream.queued_packets=12", "--stream.requests_in_flight=13",
       "--stream.request_timeout=14s", "--stream.bound_actors=15", "--stream.outbound_bytes=16384",
       "--stream.slow_reader_time=17s", "--stream.outbound_age=18s", "--stream.sessions=19",
       "--stream.connections_per_address=20", "--stream.proxies=10.0.0.7,2001:DB8:0::7/64",
       "--stream.handshake_timeout=21s", "--stream.handshakes=22",
       "--stream.heartbeat_interval=23s"});
  CHECK(bounds.message_bytes == 2048);
  CHECK(bounds.messages_per_second == 7);
  CHECK(bounds.message_burst == 8);
  CHECK(bounds.bytes_per_second == 9);
  CHECK(bounds.byte_burst == 4096);
  CHECK(bounds.quota_patience == 11s);
  CHECK(bounds.inbound_jobs == 12);
  CHECK(bounds.requests_in_flight == 13);
  CHECK(bounds.request_timeout == 14s);
  CHECK(bounds.bound_actors == 15);
  CHECK(bounds.outbound_bytes == 16384);
  CHECK(bounds.slow_reader_time == 17s);
  CHECK(bounds.outbound_age == 18s);
  CHECK(bounds.sessions == 19);
  CHECK(bounds.connections_per_address == 20);
  CHECK(bounds.proxies == std::vector<std::string>{"10.0.0.7", "2001:db8::/64"});
  CHECK(bounds.handshake_timeout == 21s);
  CHECK(bounds.handshakes == 22);
  CHECK(bounds.heartbeat_interval == 23s);
}

TEST_CASE("a bound out of its range is refused with what is allowed") {
  CHECK_THROWS_WITH(read({"--stream.requests_in_flight=0"}),
                    Catch::Contains("allowed: an integer from 1 to 65536"));
  CHECK_THROWS_WITH(read({"--stream.messages_per_second=-1"}),
                    Catch::Contains("allowed: an integer from 0 to 1000000"));
  CHECK_THROWS_WITH(read({"--stream.outbound_age=0s"}), Catch::Contains("from 1s to 10m"));
  CHECK_THROWS_WITH(
      read({"--stream.proxies=10.0.0.7,proxy"}),
      Catch::StartsWith("stream.proxies: 'proxy' is not allowed; allowed: addresses"));
}

TEST_CASE("addresses are written as connections are counted") {
  CHECK(counted("10.0.0.7") == "10.0.0.7");
  CHECK(counted("::1") == "::1");
  CHECK(counted("0:0:0:0:0:0:0:1") == "::1");
  CHECK(counted("2001:db8:1:2::/64") == "2001:db8:1:2::/64");
  CHECK(counted("2001:DB8:1:2:3:4:5:6/64") == "2001:db8:1:2::/64");
  // A single address of a network would never be found: it is counted by its network.
  for (const char* text : {"", "10.0.0", "10.0.0.7/8", "2001:db8::1", "::1/64", "localhost",
                           "10.0.0.7 ", "2001:db8::/32"}) {
    INFO(text);
    CHECK(counted(text) == "refused");
  }
}

#include "host/stream_bounds.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <arpa/inet.h>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

namespace spotmesh::host {
namespace {

using namespace std::chrono_literals;

// Reads a count, with its default from what the options hold already.
class Counts {
 public:
  explicit Counts(Settings& settings) : settings_(settings) {}
  void operator()(std::string_view key, std::size_t& value, Settings::Range range,
                  std::string_view meaning) const {
    value = static_cast<std::size_t>(
        settings_.integer(key, static_cast<std::int64_t>(value), range, meaning));
  }

 private:
  Settings& settings_;
};

Duration duration_of(Settings& settings, std::string_view key, Duration fallback,
                     Settings::DurationRange range, std::string_view meaning) {
  return settings.duration(key, std::chrono::duration_cast<std::chrono::milliseconds>(fallback),
                           range, meaning);
}

void read_inbound(Settings& settings, stream::StreamOptions& bounds) {
  constexpr Settings::Range rate{0, 1'000'000};
  constexpr std::int64_t most_bytes = 1024 * 1024 * 1024;
  const Counts count(settings);
  count("stream.message_bytes", bounds.message_bytes, {1024, 64 * 1024 * 1024},
        "largest message a client may send");
  count("stream.messages_per_second", bounds.messages_per_second, rate,
        "messages a client may send in a second before it is held back; 0 means any number");
  count("stream.message_burst", bounds.message_burst, {1, 1'000'000},
        "messages a client may send at once after a silence");
  count("stream.bytes_per_second", bounds.bytes_per_second, {0, most_bytes},
        "bytes a client may send in a second before it is held back; 0 means any number");
  count("stream.byte_burst", bounds.byte_burst, {1024, most_bytes},
        "bytes a client may send at once after a silence, at least stream.message_bytes");
  bounds.quota_patience =
      duration_of(settings, "stream.quota_patience", bounds.quota_patience, {0ms, 10min},
                  "how long a client is held back until it is closed for sending too much");
  count("stream.queued_packets", bounds.inbound_jobs, {1, 65'536},
        "packets of a client that wait for its session before it is no longer read");
  count("stream.requests_in_flight", bounds.requests_in_flight, {1, 65'536},
        "unanswered requests of a client");
  bounds.request_timeout =
      duration_of(settings, "stream.request_timeout", bounds.request_timeout, {100ms, 10min},
                  "when a client's request without an answer gets DeadlineExceeded");
  count("stream.bound_actors", bounds.bound_actors, {1, 4096}, "Actors bound to one session");
}

void read_outbound(Settings& settings, stream::StreamOptions& bounds) {
  const Counts count(settings);
  count("stream.outbound_bytes", bounds.outbound_bytes, {1024, 64 * 1024 * 1024},
        "unsent bytes at which a client that does not read is dropped");
  bounds.slow_reader_time =
      duration_of(settings, "stream.slow_reader_time", bounds.slow_reader_time, {0ms, 10min},
                  "how long a client may leave more than stream.outbound_bytes standing");
  bounds.outbound_age =
      duration_of(settings, "stream.outbound_age", bounds.outbound_age, {1s, 10min},
                  "how long anything may wait for a client that does not read");
}

void read_connections(Settings& settings, stream::StreamOptions& bounds) {
  const Counts count(settings);
  count("stream.sessions", bounds.sessions, {1, 1'000'000}, "client connections at once");
  count("stream.connections_per_address", bounds.connections_per_address, {0, 1'000'000},
        "client connections from one address; 0 means any number");
  bounds.proxies.clear();
  for (const std::string& text :
       settings.texts("stream.proxies", {"127.0.0.1", "::1"},
                      "addresses from which any number of connections may come")) {
    auto address = counted_address(text);
    if (!address) {
      throw ConfigurationError(
          fmt::format("stream.proxies: '{}' is not allowed; allowed: addresses such as "
                      "\"10.0.0.7\", \"::1\", or \"2001:db8:1:2::/64\"",
                      text));
    }
    bounds.proxies.push_back(*std::move(address));
  }
  bounds.handshake_timeout =
      duration_of(settings, "stream.handshake_timeout", bounds.handshake_timeout, {100ms, 10min},
                  "how long a client may take to open its connection, and again to say Hello");
  count("stream.handshakes", bounds.handshakes, {1, 1'000'000},
        "connections that are not open yet; one more ends the oldest");
  bounds.heartbeat_interval =
      duration_of(settings, "stream.heartbeat_interval", bounds.heartbeat_interval, {100ms, 10min},
                  "silence after which a client is pinged");
}

}  // namespace

stream::StreamOptions read_stream_bounds(Settings& settings) {
  stream::StreamOptions bounds;
  read_inbound(settings, bounds);
  read_outbound(settings, bounds);
  read_connections(settings, bounds);
  return bounds;
}

std::optional<std::string> counted_address(std::string_view text) {
  constexpr std::string_view network = "/64";
  std::array<char, INET6_ADDRSTRLEN> written{};
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (inet_pton(AF_INET, std::string(text).c_str(), bytes.data()) == 1) return std::string(text);
  const bool is_network = text.ends_with(network);
  if (is_network) text.remove_suffix(network.size());
  if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  const bool is_loopback = bytes.back() == 1 && std::all_of(bytes.begin(), bytes.end() - 1,
                                                            [](auto b) { return b == 0; });
  // Other addresses are counted by their network, so none can be left out alone.
  if (is_network == is_loopback) return std::nullopt;
  if (is_network) std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  inet_ntop(AF_INET6, bytes.data(), written.data(), written.size());
  return std::string(written.data()) + (is_network ? std::string(network) : "");
}

}  // namespace spotmesh::host

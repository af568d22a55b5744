// How a RedisStore finds its server and what it may use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "runtime/faults.hpp"

namespace spotmesh::store {

struct RedisAddress {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

// "host:6379", with brackets around an IPv6 address.
std::string to_string(const RedisAddress& address);

struct RedisCredentials {
  std::string user;      // empty: the default user
  std::string password;  // empty: no AUTH
};

struct RedisOptions {
  // The primary, or the Sentinels that know it.
  std::vector<RedisAddress> addresses;
  // The primary's name with Sentinel; empty: the only address is the primary's.
  std::string master_name;
  unsigned database = 0;
  // Clusters that share a database differ in it.
  std::string prefix = "spotmesh";
  RedisCredentials credentials;
  RedisCredentials sentinel_credentials;

  // Operations that have no answer yet, and the bytes of their keys and values; past either:
  // Unavailable.
  std::size_t queue_limit = 4096;
  std::size_t queue_bytes = std::size_t{256} * 1024 * 1024;
  // Of these, sent and not answered.
  std::size_t operations_in_flight = 256;
  std::size_t bytes_in_flight = std::size_t{16} * 1024 * 1024;
  // Longest time from the call to the answer.
  Duration operation_timeout = std::chrono::seconds(2);
  // Longest time for a connection to become usable.
  Duration connect_timeout = std::chrono::seconds(1);
  // How often Sentinel is asked who the primary is, while there is one.
  Duration sentinel_interval = std::chrono::seconds(1);
  // What `min-replicas-max-lag` must not be above to go without a warning: twice the lease's
  // margin.
  Duration max_replica_lag = std::chrono::seconds(10);

  // Told once each, on the store's thread, what this server cannot promise and what it has lost.
  std::function<void(const std::string& warning)> warn = [](const std::string&) {};
  // Null in production. Points, asked for each commit: "redis.commit-lost" and
  // "redis.commit-applied", each with an unknown outcome.
  runtime::Faults* faults = nullptr;
};

// "redis://host:6379/0?prefix=game", "redis+sentinel://one:26379,two:26379/primary?prefix=game".
// Further parameters, all optional: user, password_file, sentinel_user, sentinel_password_file, and
// with Sentinel database. InvalidOperation names what is wrong.
Result<RedisOptions> parse_redis_url(std::string_view url);

}  // namespace spotmesh::store

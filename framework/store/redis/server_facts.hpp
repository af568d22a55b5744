// What a server says of itself, and whether it may be a Location Store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>

#include "store/redis/redis_options.hpp"

namespace spotmesh::store::redis {

struct ServerFacts {
  std::string run_id;  // differs with each start of the process
  std::string version;
  std::string memory_policy;
  bool is_primary = false;
  bool is_cluster = false;
  bool has_log = false;  // appendonly
  unsigned replicas = 0;
  bool needs_replicas = false;              // min-replicas-to-write and -max-lag are both set
  std::optional<unsigned> max_lag_seconds;  // empty: it does not say
};

// From the answer to INFO.
ServerFacts parse_info(std::string_view info);

struct Refusal {
  Error error;
  bool is_final;  // trying again will not help
};

// Why this server cannot be used; empty: it can.
std::optional<Refusal> refuse_server(const ServerFacts& facts);

// What the nodes on this server have to do without, for people.
std::vector<std::string> warnings_about(const ServerFacts& facts, const RedisOptions& options);

}  // namespace spotmesh::store::redis

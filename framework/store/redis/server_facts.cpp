#include "store/redis/server_facts.hpp"

#include <charconv>

#include <fmt/format.h>

namespace spotmesh::store::redis {
namespace {

// Scripts are replicated by their effects, and users have passwords of their own, from there on.
constexpr unsigned oldest_version = 6;

unsigned number_of(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void note(ServerFacts& facts, std::string_view name, std::string_view value) {
  if (name == "run_id") facts.run_id = value;
  if (name == "redis_version") facts.version = value;
  if (name == "maxmemory_policy") facts.memory_policy = value;
  if (name == "role") facts.is_primary = value == "master";
  if (name == "cluster_enabled") facts.is_cluster = value == "1";
  if (name == "aof_enabled") facts.has_log = value == "1";
  if (name == "connected_slaves") facts.replicas = number_of(value);
  if (name == "min_slaves_good_slaves") facts.needs_replicas = true;
}

}  // namespace

ServerFacts parse_info(std::string_view info) {
  ServerFacts facts;
  while (!info.empty()) {
    std::string_view line = info.substr(0, info.find('\n'));
    info.remove_prefix(line.size() == info.size() ? line.size() : line.size() + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto colon = line.find(':');
    if (colon != std::string_view::npos) note(facts, line.substr(0, colon), line.substr(colon + 1));
  }
  return facts;
}

std::optional<Refusal> refuse_server(const ServerFacts& facts) {
  const auto finally = [](std::string reason) {
    return Refusal{Error::invalid_operation(std::move(reason)), true};
  };
  if (facts.run_id.empty()) return finally("it does not say in INFO which run it is");
  if (number_of(facts.version) < oldest_version) {
    return finally(fmt::format("it is Redis {}; version {} or newer is needed", facts.version,
                               oldest_version));
  }
  if (facts.is_cluster) {
    return finally(
        "it is part of a Redis Cluster; name a server by itself, or Sentinels that watch one");
  }
  if (facts.memory_policy.starts_with("allkeys")) {
    return finally(
        fmt::format("its maxmemory-policy is {}, which throws records away; set "
                    "maxmemory-policy noeviction",
                    facts.memory_policy));
  }
  if (!facts.is_primary) return Refusal{Error::unavailable("it is a replica"), false};
  return std::nullopt;
}

std::vector<std::string> warnings_about(const ServerFacts& facts, const RedisOptions& options) {
  std::vector<std::string> warnings;
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(options.max_replica_lag);
  if (facts.replicas > 0 || !options.master_name.empty()) {
    if (!facts.needs_replicas) {
      warnings.push_back(fmt::format(
          "a primary that is cut off from its replicas goes on accepting commits, and a fail-over "
          "loses them: two nodes may own one object meanwhile. Set min-replicas-to-write 1 and "
          "min-replicas-max-lag {} or less",
          longest.count()));
    } else if (!facts.max_lag_seconds) {
      warnings.push_back(fmt::format(
          "min-replicas-max-lag is not to be read (CONFIG GET is refused); it must be {} or less",
          longest.count()));
    } else if (*facts.max_lag_seconds > longest.count()) {
      warnings.push_back(fmt::format(
          "min-replicas-max-lag is {}: a primary that is cut off accepts commits for longer than "
          "the leases allow, and a fail-over loses them. Set it to {} or less",
          *facts.max_lag_seconds, longest.count()));
    }
  }
  if (!facts.has_log) {
    warnings.emplace_back(
        "it keeps no append-only file: a restart loses the latest commits, or all of them. Set "
        "appendonly yes");
  }
  return warnings;
}

}  // namespace spotmesh::store::redis

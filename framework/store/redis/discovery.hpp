// Where the primary is: as set, or as Sentinel says.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>

#include "base/random.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/server_facts.hpp"

namespace spotmesh::store::redis {

using SteadyTime = std::chrono::steady_clock::time_point;

class Discovery {
 public:
  Discovery(const RedisOptions& options, Random& random);

  // Empty while it is not known.
  const std::optional<RedisAddress>& primary() const { return primary_; }
  // Why it is not known, or may be wrong.
  const std::optional<Refusal>& refusal() const { return refusal_; }

  // What time and replies demand.
  void process(SteadyTime now);
  // The primary is not to be had where it was said to be: asks another Sentinel, at once.
  void doubt(SteadyTime now);
  SteadyTime next_wake() const { return wake_; }
  // Null: nothing to wait for.
  Connection* connection() { return connection_.get(); }

 private:
  const RedisAddress& sentinel() const { return options_.addresses[chosen_]; }
  void take(const redisReply& reply, SteadyTime now);
  void ask(SteadyTime now);
  void give_up(Refusal refusal, SteadyTime now);

  const RedisOptions& options_;
  Random& random_;
  std::optional<RedisAddress> primary_;
  std::optional<Refusal> refusal_;
  std::unique_ptr<Connection> connection_;
  std::size_t chosen_ = 0;
  unsigned failures_ = 0;
  std::size_t expected_ = 0;  // replies
  SteadyTime wake_{};         // to ask, or to stop waiting for the answer
};

}  // namespace spotmesh::store::redis

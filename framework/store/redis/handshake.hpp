// What is said on a new connection before operations may use it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/connection.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/server_facts.hpp"

namespace spotmesh::store::redis {

// A connection that was given up with commits under way: the server may still have them to read.
struct Abandoned {
  std::string run_id;
  std::int64_t client_id = 0;
};

// Two rounds. First: who is there, and may it be used? Then the connections that were given up are
// ended, scripts are loaded and the store is prepared, in this order: nothing of an abandoned
// connection is executed once this one is ready.
class Handshake {
 public:
  // `identity` is what the store is called if it has none, or has lost records.
  Handshake(Connection& connection, const RedisOptions& options, const StoreKeys& keys,
            const std::vector<Abandoned>& abandoned, std::string identity);

  // Replies in order, until is_ready() or a refusal.
  void on_reply(const redisReply& reply);
  bool is_ready() const { return is_ready_; }
  const std::optional<Refusal>& refusal() const { return refusal_; }

  const ServerFacts& facts() const { return facts_; }
  std::int64_t client_id() const { return client_id_; }
  const std::array<std::string, script_count>& hashes() const { return hashes_; }
  // "created", "repaired" or "kept".
  const std::string& outcome() const { return outcome_; }

 private:
  enum class Step { Auth, Select, ClientId, Info, MaxLag, Kill, Load, Prepare };

  void ask(Step step, const std::vector<std::string_view>& words);
  void begin_second_round();
  void take(Step step, const redisReply& reply);
  void refuse(Step step, const redisReply& reply);

  Connection& connection_;
  const RedisOptions& options_;
  const StoreKeys& keys_;
  const std::vector<Abandoned>& abandoned_;
  const std::string identity_;
  std::vector<Step> steps_;
  std::size_t taken_ = 0;
  std::size_t loaded_ = 0;
  ServerFacts facts_;
  std::int64_t client_id_ = 0;
  std::array<std::string, script_count> hashes_;
  std::string outcome_;
  bool is_ready_ = false;
  std::optional<Refusal> refusal_;
};

}  // namespace spotmesh::store::redis

// Hints by Redis' publish and subscribe, on a connection of their own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "location/store.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/discovery.hpp"
#include "store/redis/scripts.hpp"

namespace spotmesh::store::redis {

class Hints {
 public:
  Hints(const RedisOptions& options, const StoreKeys& keys) : options_(options), keys_(keys) {}

  void add(std::string prefix, location::HintCallback hint);
  // `server`: where the link leads to; null while it does not.
  void process(const RedisAddress* server, SteadyTime now);
  SteadyTime next_wake() const { return is_wanted_ ? wake_ : SteadyTime::max(); }
  Connection* connection() { return connection_.get(); }

 private:
  struct Watch {
    std::string prefix;
    std::string pattern;
    location::HintCallback hint;
  };
  void connect(const RedisAddress& server, SteadyTime now);
  void take(const redisReply& reply);

  const RedisOptions& options_;
  const StoreKeys& keys_;
  std::vector<Watch> watches_;
  std::unique_ptr<Connection> connection_;
  bool is_wanted_ = false;  // somebody watches, and there is a server
  bool has_told_ = false;   // that the server refuses subscriptions
  bool is_silent_ = false;  // asked whether it lives, and not answered
  SteadyTime wake_{};       // to ask again; without a connection: to have one
};

}  // namespace spotmesh::store::redis

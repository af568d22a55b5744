// The LocationStore of several machines: a Redis server, by itself or watched by Sentinel.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>

#include "location/store.hpp"
#include "store/redis/redis_options.hpp"

namespace spotmesh::store {

// One thread of its own, which callbacks run on; operations are pipelined over one connection, each
// of them one script. See framework/docs/store-redis.md for keys, scripts and what Redis must be
// set to.
//
// The epoch is made of an identity that is kept beside the records and of the server's replication
// id: a restart, a fail-over and an emptied database each show another one.
class RedisStore : public location::LocationStore {
 public:
  // Connects, and makes an empty store of the prefix if there is none. Unavailable when the primary
  // is not to be had for operation_timeout; Rejected when it refuses the credentials or lacks a
  // permission; InvalidOperation when it is set up in a way that loses records, or holds those of
  // another version; NotFound when Sentinel knows no such primary.
  static Result<std::unique_ptr<RedisStore>> open(RedisOptions options);

  // Executes what is waiting, within operation_timeout; when it returns every callback has run.
  ~RedisStore() override;

  void read(std::vector<std::string> keys, location::ReadCallback done) override;
  void commit(location::Commit commit, location::CommitCallback done) override;
  void scan(std::string prefix, std::string cursor, std::size_t limit,
            location::ScanCallback done) override;
  // Passes keys; the prefix itself whenever hints may have been lost.
  void watch(std::string prefix, location::HintCallback hint) override;
  std::string describe() const override;

 private:
  class Engine;
  explicit RedisStore(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace spotmesh::store

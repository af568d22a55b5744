#include "store/redis/redis_store.hpp"

#include <utility>

#include <fmt/format.h>

#include "store/redis/engine.hpp"

namespace spotmesh::store {

Result<std::unique_ptr<RedisStore>> RedisStore::open(RedisOptions options) {
  auto engine = std::make_unique<Engine>(std::move(options));
  if (auto ready = engine->wait_until_ready(); !ready) return fail(ready.error());
  return std::unique_ptr<RedisStore>(new RedisStore(std::move(engine)));
}

RedisStore::RedisStore(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

RedisStore::~RedisStore() = default;

void RedisStore::read(std::vector<std::string> keys, location::ReadCallback done) {
  engine_->read(std::move(keys), std::move(done));
}

void RedisStore::commit(location::Commit commit, location::CommitCallback done) {
  engine_->commit(std::move(commit), std::move(done));
}

void RedisStore::scan(std::string prefix, std::string cursor, std::size_t limit,
                      location::ScanCallback done) {
  engine_->scan(std::move(prefix), cursor, limit, std::move(done));
}

void RedisStore::watch(std::string prefix, location::HintCallback hint) {
  engine_->watch(std::move(prefix), std::move(hint));
}

std::string RedisStore::describe() const {
  const RedisOptions& options = engine_->options();
  std::string hosts;
  for (const RedisAddress& address : options.addresses) {
    hosts += (hosts.empty() ? "" : ",") + to_string(address);
  }
  if (options.master_name.empty()) {
    return fmt::format("redis://{}/{}?prefix={}", hosts, options.database, options.prefix);
  }
  return fmt::format("redis+sentinel://{}/{}?prefix={}&database={}", hosts, options.master_name,
                     options.prefix, options.database);
}

}  // namespace spotmesh::store

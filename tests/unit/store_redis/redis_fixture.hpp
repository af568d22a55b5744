// A store on a server of a test's own.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "redis_client.hpp"
#include "store/redis/redis_store.hpp"
#include "support/redis_process.hpp"
#include "support/store_calls.hpp"

namespace spotmesh::testing {

// What a store has told its operator.
class Warnings {
 public:
  void add(const std::string& warning) {
    const std::lock_guard lock(mutex_);
    text_ += warning + '\n';
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

inline store::RedisOptions redis_options(std::uint16_t port) {
  auto options = store::parse_redis_url(fmt::format("redis://127.0.0.1:{}/0?prefix=game", port));
  REQUIRE(options);
  options->operation_timeout = std::chrono::milliseconds(500);
  options->connect_timeout = std::chrono::milliseconds(250);
  return std::move(*options);
}

inline Error redis_open_error(store::RedisOptions options) {
  const std::string address = to_string(options.addresses.front());
  auto opened = store::RedisStore::open(std::move(options));
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().message(), Catch::Matchers::Contains(address));
  return opened.error();
}

class OpenedRedis {
 public:
  explicit OpenedRedis(store::RedisOptions options) {
    options.warn = [this](const std::string& warning) { warnings_.add(warning); };
    auto opened = store::RedisStore::open(std::move(options));
    if (!opened) FAIL(to_string(opened.error()));
    store_ = std::move(*opened);
  }

  store::RedisStore& store() { return *store_; }
  StoreCalls calls() { return {*store_, waiter_}; }
  std::string warnings() const { return warnings_.text(); }
  location::StoreEpoch epoch() {
    const auto result = calls().read({"any"});
    REQUIRE(result);
    return result->epoch;
  }
  // The text of a key once the store answers again, for which it has half a minute.
  std::string get_in_time(const std::string& key) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      const auto result = calls().read({key});
      if (result) {
        const auto& stored = result->values.at(0);
        return stored ? std::string(as_text(stored->value)) : "(absent)";
      }
      if (std::chrono::steady_clock::now() > end) FAIL(to_string(result.error()));
    }
  }

 private:
  Warnings warnings_;
  RealWaiter waiter_;
  std::unique_ptr<store::RedisStore> store_;
};

}  // namespace spotmesh::testing

// The providers that the suite runs over. A provider has one store and as many handles on it as a
// test asks for, each as another process would have it.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/faults.hpp"
#include "store/redis/redis_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/manual_time.hpp"
#include "support/redis_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/store_calls.hpp"
#include "testing/sim_store.hpp"

namespace spotmesh::testing {

enum class Unknown { Applied, Lost };

// Strikes once at the named point. Read by the store's thread, set while it has nothing to do.
struct OneFault : runtime::Faults {
  bool strikes(std::string_view point) override {
    if (point != next) return false;
    next = {};
    return true;
  }
  std::string_view next;
};

class SqliteProvider {
 public:
  StoreCalls connect() {
    faults_.emplace_back();
    auto opened = store::SqliteStore::open({.path = folder_.path() / "cluster.db",
                                            .hint_interval = std::chrono::milliseconds(1),
                                            .faults = &faults_.back()});
    REQUIRE(opened);
    stores_.push_back(std::move(*opened));
    return {*stores_.back(), waiter_};
  }
  // The next commit of the handle that was connected as number `handle`.
  void make_next_unknown(std::size_t handle, Unknown kind) {
    faults_.at(handle).next =
        kind == Unknown::Applied ? "sqlite.commit-applied" : "sqlite.commit-lost";
  }
  void disconnect_all() { stores_.clear(); }

 private:
  ScratchFolder folder_;
  RealWaiter waiter_;
  std::deque<OneFault> faults_;
  std::vector<std::unique_ptr<location::LocationStore>> stores_;
};

// A server of its own, on a free port of the loopback address.
class RedisProvider {
 public:
  StoreCalls connect() {
    faults_.emplace_back();
    auto options = store::parse_redis_url(server_.url() + "?prefix=conformance");
    REQUIRE(options);
    options->faults = &faults_.back();
    auto opened = store::RedisStore::open(std::move(*options));
    if (!opened) FAIL(to_string(opened.error()));
    stores_.push_back(std::move(*opened));
    return {*stores_.back(), waiter_};
  }
  void make_next_unknown(std::size_t handle, Unknown kind) {
    faults_.at(handle).next =
        kind == Unknown::Applied ? "redis.commit-applied" : "redis.commit-lost";
  }
  void disconnect_all() { stores_.clear(); }

 private:
  RedisProcess server_;
  RealWaiter waiter_;
  std::deque<OneFault> faults_;
  std::vector<std::unique_ptr<location::LocationStore>> stores_;
};

class SimProvider {
 public:
  StoreCalls connect() {
    clients_.push_back(store_.connect("node-" + std::to_string(clients_.size())));
    return {*clients_.back(), waiter_};
  }
  void make_next_unknown(std::size_t handle, Unknown kind) {
    // Late is the harder form of Applied: it happens after the answer.
    clients_.at(handle)->make_next_unknown(kind == Unknown::Applied ? UnknownCommit::Late
                                                                    : UnknownCommit::Lost);
  }
  void disconnect_all() { clients_.clear(); }

 protected:
  explicit SimProvider(SimStoreBehavior behavior) : store_(time_, random_, behavior) {}

 public:
  SimProvider() : SimProvider(SimStoreBehavior{}) {}

 private:
  class SimWaiter : public Waiter {
   public:
    explicit SimWaiter(ManualTime& time) : time_(time) {}
    void pass() override { time_.run_next(); }

   private:
    ManualTime& time_;
  };

  ManualTime time_;
  TestRandom random_{20'261'130};
  SimStore store_;
  SimWaiter waiter_{time_};
  std::vector<std::unique_ptr<SimStore::Client>> clients_;
};

// No hint ever arrives; nothing but the hints themselves may depend on it.
class HintlessSimProvider : public SimProvider {
 public:
  HintlessSimProvider() : SimProvider({.lost_hints_per_mille = 1000}) {}
};

}  // namespace spotmesh::testing

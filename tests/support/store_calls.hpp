// Store operations as plain calls: submit, wait, return what the callback got.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "location/store.hpp"

namespace spotmesh::testing {

// Receives the answer of one operation, on any thread, and counts how often it comes.
template <typename T>
class Inbox {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    value_.emplace(std::move(value));
    ++times_;
    changed_.notify_all();
  }
  int times() const {
    const std::lock_guard lock(mutex_);
    return times_;
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return times_ > 0; });
  }
  T take() {
    const std::lock_guard lock(mutex_);
    return std::move(*value_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
  int times_ = 0;
};

// How a test waits: for real threads, or by running the simulation.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // Lets some time pass for the store; called until the answer is there.
  virtual void pass() = 0;
};

class RealWaiter : public Waiter {
 public:
  void pass() override {}
};

class StoreCalls {
 public:
  StoreCalls(location::LocationStore& store, Waiter& waiter) : store_(store), waiter_(waiter) {}

  location::LocationStore& store() { return store_; }

  Result<location::ReadResult> read(std::vector<std::string> keys) {
    return call<Result<location::ReadResult>>(
        [&](auto done) { store_.read(std::move(keys), std::move(done)); });
  }
  location::CommitResult commit(location::Commit commit) {
    return call<location::CommitResult>(
        [&](auto done) { store_.commit(std::move(commit), std::move(done)); });
  }
  Result<location::ScanPage> scan(std::string prefix, std::string cursor, std::size_t limit) {
    return call<Result<location::ScanPage>>([&](auto done) {
      store_.scan(std::move(prefix), std::move(cursor), limit, std::move(done));
    });
  }

  // The value and version of one key.
  std::optional<location::StoredValue> get(const std::string& key) {
    auto result = read({key});
    REQUIRE(result);
    return result->values.at(0);
  }
  std::string get_text(const std::string& key) {
    const auto stored = get(key);
    return stored ? std::string(as_text(stored->value)) : "(absent)";
  }
  location::StoreVersion put(const std::string& key, std::string_view value) {
    const auto result = commit({.epoch = {}, .conditions = {}, .writes = {{key, to_bytes(value)}}});
    REQUIRE(result.outcome == location::CommitResult::Outcome::Ok);
    return result.versions.at(0);
  }

  template <typename T>
  T await(Inbox<T>& inbox) {
    for (int rounds = 0; !inbox.wait_for(std::chrono::milliseconds(0)); ++rounds) {
      waiter_.pass();
      if (inbox.wait_for(std::chrono::milliseconds(1))) break;
      // Not an assertion: these belong to the test's own thread.
      if (rounds > 60'000) throw std::runtime_error("the store has not answered for a minute");
    }
    return inbox.take();
  }

 private:
  template <typename T, typename Submit>
  T call(Submit submit) {
    auto inbox = std::make_shared<Inbox<T>>();
    submit([inbox](T value) { inbox->put(std::move(value)); });
    return await(*inbox);
  }

  location::LocationStore& store_;
  Waiter& waiter_;
};

// Short forms for building commits.
inline location::Write put(std::string key, std::string_view value) {
  return {std::move(key), to_bytes(value)};
}
inline location::Write erase(std::string key) { return {std::move(key), std::nullopt}; }
inline location::Condition absent(std::string key) { return {std::move(key), std::nullopt}; }
inline location::Condition same(std::string key, location::StoreVersion version) {
  return {std::move(key), version};
}

}  // namespace spotmesh::testing

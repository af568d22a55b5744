// Waiting for other threads without guessing how long they take.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace spotmesh::net {

// Long enough for a sanitized build on a busy machine; only a failing test waits for it.
inline constexpr auto patience = std::chrono::seconds(30);

// A value that threads change and others wait for.
template <typename Value>
class Watched {
 public:
  explicit Watched(Value value = {}) : value_(std::move(value)) {}

  template <typename Change>
  void change(Change change) {
    std::lock_guard lock(mutex_);
    change(value_);
    changed_.notify_all();
  }
  void set(Value value) {
    change([&](Value& held) { held = std::move(value); });
  }
  Value get() const {
    std::lock_guard lock(mutex_);
    return value_;
  }
  // Whether `holds(value)` came true in time.
  template <typename Condition>
  [[nodiscard]] bool wait_until(Condition holds) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return holds(value_); });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Value value_;
};

// A flag that one thread raises and another waits for.
class Signal {
 public:
  void raise() { raised_.set(true); }
  bool is_raised() const { return raised_.get(); }
  [[nodiscard]] bool wait() const {
    return raised_.wait_until([](bool raised) { return raised; });
  }

 private:
  Watched<bool> raised_{false};
};

}  // namespace spotmesh::net

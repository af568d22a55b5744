// Published: what a Spot lets everybody see while its own turns go on changing it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace spotmesh {

// A constant value that is replaced as a whole. For members of an Entry Spot or PerActorSpot, which
// run at the same time as the Spot: its own turns publish, const handlers get.
//
//   Published<Prices> prices_;
//   void reprice(const Reprice& order) { prices_.publish(new_prices(order)); }
//   Offer ask(Player& player, const Ask& ask) const { return offer(*prices_.get(), ask); }
//
// Any thread. What get() has returned stays as it is, whatever is published after it.
template <typename T>
class Published {
 public:
  // Starts with a T made by default.
  Published() : value_(std::make_shared<const T>()) {}
  explicit Published(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  void publish(T value) {
    auto next = std::make_shared<const T>(std::move(value));
    std::lock_guard lock(mutex_);
    value_.swap(next);
  }
  // Never null.
  std::shared_ptr<const T> get() const {
    std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace spotmesh

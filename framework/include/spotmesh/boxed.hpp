// Boxed: an optional value that lives on the heap, for packets that contain themselves.
#pragma once

#include <cassert>
#include <memory>
#include <utility>

namespace spotmesh {

// Used like std::optional<T>, but T may be incomplete where the member is declared: a table of a
// schema that holds itself, directly or by way of others, becomes a struct with Boxed members.
// Copies are deep and so is comparison. No member function locks; a Boxed value is as safe to share
// as the T inside.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other.copy()) {}
  Boxed(Boxed&& other) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    // Copied before the old value goes: `other` may live inside it.
    value_ = other.copy();
    return *this;
  }
  Boxed& operator=(Boxed&& other) noexcept {
    // Held until the end for the same reason.
    auto taken = std::move(other.value_);
    value_.swap(taken);
    return *this;
  }
  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }

  // The value; there must be one.
  T& operator*() { return *get(); }
  const T& operator*() const { return *get(); }
  T* operator->() { return get(); }
  const T* operator->() const { return get(); }

  // Replaces the value with T{arguments…} and returns it.
  template <typename... Arguments>
  T& emplace(Arguments&&... arguments) {
    value_.reset(new T{std::forward<Arguments>(arguments)...});
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Boxed& left, const Boxed& right) {
    if (left.has_value() != right.has_value()) return false;
    return !left.has_value() || *left == *right;
  }

 private:
  T* get() const {
    assert(value_ != nullptr);
    return value_.get();
  }
  std::unique_ptr<T> copy() const { return value_ ? std::make_unique<T>(*value_) : nullptr; }

  std::unique_ptr<T> value_;
};

}  // namespace spotmesh

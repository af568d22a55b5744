// Intrusive reference counts for the few objects that outlive a single owner: gates, and the cells
// that own mailboxes.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <utility>

namespace spotmesh::runtime {

// The count starts at zero; the first Ref makes it one, the last one deletes the object, on
// whatever thread that is.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void add_ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release_ref() const {
    // Who has the only reference is the only one who could make another.
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 protected:
  virtual ~RefCounted() = default;

 private:
  mutable std::atomic<std::uint32_t> references_{0};
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->add_ref();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <std::derived_from<T> Derived>
    requires(!std::same_as<Derived, T>)
  Ref(const Ref<Derived>& other) : Ref(static_cast<T*>(other.get())) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release_ref();
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref&, const Ref&) = default;

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace spotmesh::runtime

// SmallMutex: a mutex of four bytes whose lock and unlock are inlined.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SPOTMESH_SMALL_MUTEX_IS_STD 1
#endif
#endif
#ifndef SPOTMESH_SMALL_MUTEX_IS_STD
#define SPOTMESH_SMALL_MUTEX_IS_STD 0
#endif

namespace spotmesh {

#if SPOTMESH_SMALL_MUTEX_IS_STD

// ThreadSanitizer knows it, and sees two locks that are taken in both orders.
using SmallMutex = std::mutex;

#else

// For what exists by the million, or is locked several times per message, and is held for a few
// instructions. An Actor has four; a std::mutex of glibc has 40 bytes.
class SmallMutex {
 public:
  SmallMutex() = default;
  SmallMutex(const SmallMutex&) = delete;
  SmallMutex& operator=(const SmallMutex&) = delete;

  bool try_lock() {
    State expected = free;
    return state_.compare_exchange_strong(expected, held, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void lock() {
    if (!try_lock()) [[unlikely]] {
      wait_and_lock();
    }
  }
  void unlock() {
    if (state_.exchange(free, std::memory_order_release) == awaited) [[unlikely]] {
      state_.notify_one();
    }
  }

 private:
  using State = std::uint32_t;
  static constexpr State free = 0;
  static constexpr State held = 1;
  static constexpr State awaited = 2;  // held, and somebody may sleep until it is free

  [[gnu::noinline]] void wait_and_lock() {
    // Its holder is done before a thread could be put to sleep, unless it was interrupted.
    for (int spin = 0; spin < 64; ++spin) {
      if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
    }
    while (state_.exchange(awaited, std::memory_order_acquire) != free) {
      state_.wait(awaited, std::memory_order_relaxed);
    }
  }

  std::atomic<State> state_{free};
};

#endif

}  // namespace spotmesh

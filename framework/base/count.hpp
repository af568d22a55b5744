// Count: one number that is counted on any thread and read at any time.
// SpreadCount: the same for what all threads count all the time.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace spotmesh {

class Count {
 public:
  void add(std::int64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Threads count in places of their own, so that no line of memory goes to and fro between cores.
class SpreadCount {
 public:
  void add() { places_[own_place()].value.fetch_add(1, std::memory_order_relaxed); }
  std::int64_t value() const {
    std::int64_t sum = 0;
    for (const Place& place : places_) sum += place.value.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr unsigned place_bits = 4;
  struct alignas(64) Place {
    std::atomic<std::int64_t> value{0};
  };
  // By the address of something that each thread has. Two threads that meet only get slower.
  static std::size_t own_place() {
    static constinit thread_local char mark = 0;
    const auto address = std::bit_cast<std::uintptr_t>(&mark);
    return std::uint64_t{address} * 0x9e3779b97f4a7c15U >> (64 - place_bits);
  }

  std::array<Place, std::size_t{1} << place_bits> places_;
};

}  // namespace spotmesh

// Count: one number that is counted on any thread and read at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace spotmesh {

class Count {
 public:
  void add(std::int64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

}  // namespace spotmesh

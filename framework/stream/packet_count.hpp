// PacketCount: how many packets of one client wait for their turn, or have it.
#pragma once

#include <atomic>
#include <cstddef>

namespace spotmesh::stream {

// Two numbers that only grow: one side writes each, so that neither waits for the other.
class PacketCount {
 public:
  // By the session's reader alone.
  void take() {
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Any thread, once for each that was taken.
  void finish() { done_.fetch_add(1); }
  // Any thread.
  std::size_t waiting() const {
    const std::size_t done = done_.load();  // first: what is done was taken before
    return taken_.load() - done;
  }

 private:
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> done_{0};
};

}  // namespace spotmesh::stream

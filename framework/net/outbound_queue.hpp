// What waits to be written to one client.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>

namespace spotmesh::net {

// Holds references to shared bytes, never copies. An idle client's queue owns no memory.
class OutboundQueue {
 public:
  void push(SharedBytes bytes) { waiting_.push_back(std::move(bytes)); }
  void push_front(SharedBytes bytes) {
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(first_), std::move(bytes));
  }

  bool empty() const { return first_ == waiting_.size(); }

  // Fills `parts` with what comes next; returns how many it filled. What they point at stays until
  // it is consumed or the queue is cleared, whatever is pushed meanwhile.
  std::size_t gather(std::span<iovec> parts) const {
    std::size_t count = 0;
    for (std::size_t i = first_; i < waiting_.size() && count < parts.size(); ++i, ++count) {
      ByteView view = waiting_[i].view();
      if (i == first_) view = view.subspan(first_offset_);
      // The system does not write through it.
      parts[count] = {const_cast<std::byte*>(view.data()), view.size()};
    }
    return count;
  }

  // The first `bytes` have been written.
  void consume(std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t rest = waiting_[first_].size() - first_offset_;
      if (bytes < rest) {
        first_offset_ += bytes;
        return;
      }
      bytes -= rest;
      first_offset_ = 0;
      waiting_[first_++] = SharedBytes();
    }
    compact();
  }

  void clear() {
    std::vector<SharedBytes>().swap(waiting_);
    first_ = 0;
    first_offset_ = 0;
  }

 private:
  static constexpr std::size_t kept_capacity = 16;

  void compact() {
    if (empty()) {
      waiting_.clear();
      first_ = 0;
      if (waiting_.capacity() > kept_capacity) clear();
    } else if (first_ > kept_capacity && first_ > waiting_.size() / 2) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

  std::vector<SharedBytes> waiting_;
  std::size_t first_ = 0;
  std::size_t first_offset_ = 0;  // bytes of the first that have been written
};

}  // namespace spotmesh::net

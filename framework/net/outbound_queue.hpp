// What waits to be written to one client.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "base/pool.hpp"

namespace spotmesh::net {

// Long parts are referred to and never copied. Short ones that come together are copied into one
// block: the system asks more for each piece of a write than it takes to copy them. An idle
// client's queue owns no block.
class OutboundQueue {
 public:
  void push(SharedBytes bytes) {
    if (bytes.size() > longest_packed || empty() || !pack(bytes)) {
      waiting_.push_back(Part{std::move(bytes), nullptr});
    }
  }
  void push_front(SharedBytes bytes) {
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(first_),
                    Part{std::move(bytes), nullptr});
  }

  bool empty() const { return first_ == waiting_.size(); }

  // Fills `parts` with what comes next; returns how many it filled. What they point at stays until
  // it is consumed or the queue is cleared, whatever is pushed meanwhile.
  std::size_t gather(std::span<iovec> parts) {
    std::size_t count = 0;
    for (std::size_t i = first_; i < waiting_.size() && count < parts.size(); ++i, ++count) {
      ByteView view = waiting_[i].view();
      if (i == first_) view = view.subspan(first_offset_);
      // The system does not write through it.
      parts[count] = {const_cast<std::byte*>(view.data()), view.size()};
    }
    gathered_ = first_ + count;
    return count;
  }

  // The first `bytes` have been written.
  void consume(std::size_t bytes) {
    gathered_ = first_;
    while (bytes > 0) {
      const std::size_t rest = waiting_[first_].view().size() - first_offset_;
      if (bytes < rest) {
        first_offset_ += bytes;
        return;
      }
      bytes -= rest;
      first_offset_ = 0;
      waiting_[first_++] = Part();
    }
    compact();
  }

  void clear() {
    std::vector<Part>().swap(waiting_);
    first_ = 0;
    gathered_ = 0;
    first_offset_ = 0;
  }

 private:
  static constexpr std::size_t longest_packed = 256;
  static constexpr std::size_t kept_capacity = 2;
  static constexpr std::size_t compacted_beyond = 16;

  // Only ever added to at its end, so that what was gathered of it stays where it is.
  class Block : public Pooled {
   public:
    bool has_room(std::size_t bytes) const { return bytes_.size() - size_ >= bytes; }
    void add(ByteView bytes) {
      std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
      size_ += bytes.size();
    }
    ByteView view() const { return {bytes_.data(), size_}; }

   private:
    std::size_t size_ = 0;
    std::array<std::byte, pool_block_bytes - sizeof(std::size_t)> bytes_;
  };

  // Has one of them.
  struct Part {
    SharedBytes shared;
    std::unique_ptr<Block> packed;
    ByteView view() const { return packed != nullptr ? packed->view() : shared.view(); }
  };

  // Puts it together with the last part. False where that is not possible.
  bool pack(const SharedBytes& bytes) {
    Part& last = waiting_.back();
    if (last.packed == nullptr) {
      // One that the system reads at this moment stays as it is.
      if (last.shared.size() > longest_packed || waiting_.size() <= gathered_) return false;
      last.packed = std::make_unique<Block>();
      last.packed->add(last.shared.view());
      last.shared = {};
    }
    if (!last.packed->has_room(bytes.size())) return false;
    last.packed->add(bytes.view());
    return true;
  }

  void compact() {
    if (empty()) {
      waiting_.clear();
      first_ = 0;
      gathered_ = 0;
      if (waiting_.capacity() > kept_capacity) clear();
    } else if (first_ > compacted_beyond && first_ > waiting_.size() / 2) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
      gathered_ = 0;
    }
  }

  std::vector<Part> waiting_;
  std::size_t first_ = 0;
  std::size_t gathered_ = 0;      // parts before it may be under way to the system
  std::size_t first_offset_ = 0;  // bytes of the first that have been written
};

}  // namespace spotmesh::net

#include "runtime/pool.hpp"

#include <array>
#include <cstdint>
#include <new>

#include <spotmesh/task.hpp>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SPOTMESH_POOL_IS_PLAIN 1
#endif
#endif
#ifndef SPOTMESH_POOL_IS_PLAIN
#define SPOTMESH_POOL_IS_PLAIN 0
#endif

namespace spotmesh::runtime {
namespace {

constexpr std::size_t class_bytes = 64;
constexpr std::size_t class_count = pool_block_bytes / class_bytes;
// What one thread keeps of one class at most: enough for a batch of turns on a busy gate.
constexpr std::uint32_t kept_blocks = 512;

struct FreeBlock {
  FreeBlock* next;
};

// Trivial on purpose: it stays usable while other thread-local objects are being destroyed.
struct ThreadLists {
  std::array<FreeBlock*, class_count> first;
  std::array<std::uint32_t, class_count> count;
  bool has_reaper;
  bool is_closed;  // the thread is ending: nothing is kept any more
};

constinit thread_local ThreadLists lists{};

struct Reaper {
  ~Reaper() {
    lists.is_closed = true;
    for (std::size_t index = 0; index < class_count; ++index) {
      while (FreeBlock* block = lists.first[index]) {
        lists.first[index] = block->next;
        ::operator delete(block);
      }
    }
  }
};

// Registers the thread's clean-up; kept apart because a thread-local with a destructor costs a
// check at each access.
[[gnu::noinline]] void add_reaper() {
  static thread_local Reaper reaper;
  (void)reaper;
  lists.has_reaper = true;
}

constexpr std::size_t class_of(std::size_t size) { return (size - 1) / class_bytes; }

}  // namespace

void* pool_allocate(std::size_t size) {
  if (SPOTMESH_POOL_IS_PLAIN || size == 0 || size > pool_block_bytes) return ::operator new(size);
  const std::size_t index = class_of(size);
  if (FreeBlock* block = lists.first[index]) {
    lists.first[index] = block->next;
    --lists.count[index];
    return block;
  }
  return ::operator new((index + 1) * class_bytes);
}

void pool_free(void* block, std::size_t size) noexcept {
  if (block == nullptr) return;
  if (SPOTMESH_POOL_IS_PLAIN || size == 0 || size > pool_block_bytes || lists.is_closed) {
    ::operator delete(block);
    return;
  }
  const std::size_t index = class_of(size);
  if (lists.count[index] >= kept_blocks) {
    ::operator delete(block);
    return;
  }
  if (!lists.has_reaper) add_reaper();
  lists.first[index] = new (block) FreeBlock{lists.first[index]};
  ++lists.count[index];
}

}  // namespace spotmesh::runtime

namespace spotmesh::detail {

void* allocate_frame(std::size_t size) { return runtime::pool_allocate(size); }
void free_frame(void* frame, std::size_t size) noexcept { runtime::pool_free(frame, size); }

}  // namespace spotmesh::detail

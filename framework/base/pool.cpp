#include "base/pool.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SPOTMESH_POOL_IS_PLAIN 1
#endif
#endif
#ifndef SPOTMESH_POOL_IS_PLAIN
#define SPOTMESH_POOL_IS_PLAIN 0
#endif

namespace spotmesh {
namespace {

constexpr std::size_t class_bytes = 64;
constexpr std::size_t class_count = pool_block_bytes / class_bytes;
// A list is full with so many blocks. A thread keeps two lists of each class at most, so that one
// that gets and frees by turns at the border of a list does not ask the depot each time.
constexpr std::uint32_t list_blocks = 64;
// What the depot keeps of each class at most.
constexpr std::size_t depot_bytes_per_class = 4 * 1024 * 1024;

struct FreeBlock {
  FreeBlock* next;
  FreeBlock* next_list;  // of the first block of a full list in the depot
};
static_assert(sizeof(FreeBlock) <= class_bytes);

constexpr std::size_t class_of(std::size_t size) { return (size - 1) / class_bytes; }
constexpr std::size_t bytes_of(std::size_t index) { return (index + 1) * class_bytes; }

// Full lists on their way from threads that free to threads that get.
class alignas(64) Depot {
 public:
  // False: it has enough.
  bool put(FreeBlock* list, std::size_t index) {
    std::lock_guard lock(mutex_);
    if (count_.load(std::memory_order_relaxed) * list_blocks * bytes_of(index) >=
        depot_bytes_per_class) {
      return false;
    }
    list->next_list = std::exchange(first_, list);
    count_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // Null when it has none.
  FreeBlock* take() {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    std::lock_guard lock(mutex_);
    FreeBlock* list = first_;
    if (list == nullptr) return nullptr;
    first_ = list->next_list;
    count_.fetch_sub(1, std::memory_order_relaxed);
    return list;
  }

 private:
  std::mutex mutex_;
  FreeBlock* first_ = nullptr;
  std::atomic<std::size_t> count_{0};
};

// Like the heap it stands in front of, one for the process.
constinit std::array<Depot, class_count> depots;

// Trivial on purpose: it stays usable while other thread-local objects are being destroyed.
struct ThreadList {
  FreeBlock* first;
  FreeBlock* full;      // a whole list more, or null
  std::uint32_t count;  // of `first`
};
struct ThreadLists {
  std::array<ThreadList, class_count> of_class;
  bool has_reaper;
  bool is_closed;  // the thread is ending: nothing is kept any more
};

constinit thread_local ThreadLists lists{};

void free_all(FreeBlock* block) {
  while (block != nullptr) ::operator delete(std::exchange(block, block->next));
}

struct Reaper {
  ~Reaper() {
    lists.is_closed = true;
    for (ThreadList& list : lists.of_class) {
      free_all(std::exchange(list.first, nullptr));
      free_all(std::exchange(list.full, nullptr));
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

[[gnu::noinline]] void* allocate_from_full_list(ThreadList& list, std::size_t index) {
  FreeBlock* taken = std::exchange(list.full, nullptr);
  if (taken == nullptr) taken = depots[index].take();
  if (taken == nullptr) return ::operator new(bytes_of(index));
  if (!lists.has_reaper) add_reaper();
  list.first = taken->next;
  list.count = list_blocks - 1;
  return taken;
}

[[gnu::noinline]] void put_full_list_away(ThreadList& list, std::size_t index) {
  FreeBlock* full = std::exchange(list.full, std::exchange(list.first, nullptr));
  list.count = 0;
  if (full != nullptr && !depots[index].put(full, index)) free_all(full);
}

}  // namespace

void* pool_allocate(std::size_t size) {
  if (SPOTMESH_POOL_IS_PLAIN || size == 0 || size > pool_block_bytes) return ::operator new(size);
  const std::size_t index = class_of(size);
  ThreadList& list = lists.of_class[index];
  FreeBlock* block = list.first;
  if (block == nullptr) return allocate_from_full_list(list, index);
  list.first = block->next;
  --list.count;
  return block;
}

void pool_free(void* block, std::size_t size) noexcept {
  if (block == nullptr) return;
  if (SPOTMESH_POOL_IS_PLAIN || size == 0 || size > pool_block_bytes || lists.is_closed) {
    ::operator delete(block);
    return;
  }
  const std::size_t index = class_of(size);
  ThreadList& list = lists.of_class[index];
  if (list.count >= list_blocks) put_full_list_away(list, index);
  if (!lists.has_reaper) add_reaper();
  list.first = new (block) FreeBlock{list.first, nullptr};
  ++list.count;
}

}  // namespace spotmesh

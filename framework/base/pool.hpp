// The pool from which jobs, turns, coroutine frames and payloads come: they are made and freed per
// message.
#pragma once

#include <cstddef>

namespace spotmesh {

// Blocks up to pool_block_bytes are kept in lists of the calling thread, one per size class and
// each bounded; larger ones go to the global heap. A block may be freed on another thread than the
// one that got it. Where one thread makes what another one ends, lists that have become full cross
// over whole, through a depot that all threads share and that is bounded, too. Under
// AddressSanitizer and ThreadSanitizer every block goes to the heap, so that they see a use after
// free.
inline constexpr std::size_t pool_block_bytes = 1024;

void* pool_allocate(std::size_t size);
void pool_free(void* block, std::size_t size) noexcept;

// Gives a class hierarchy pooled operator new and delete. The root needs a virtual destructor, so
// that delete sees the size of the whole object.
class Pooled {
 public:
  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }
};

// For what the standard library allocates on one's behalf.
template <typename T>
struct PoolAllocator {
  using value_type = T;
  static_assert(alignof(T) <= alignof(std::max_align_t));

  PoolAllocator() = default;
  template <typename U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(pool_allocate(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept { pool_free(block, count * sizeof(T)); }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

}  // namespace spotmesh

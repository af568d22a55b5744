#include <spotmesh/bytes.hpp>

#include <cstring>
#include <new>

#include "base/pool.hpp"

namespace spotmesh {

SharedBytes SharedBytes::copy_of(ByteView view) {
  SharedBytes copy;
  if (view.empty()) return copy;
  copy.block_ = new (pool_allocate(sizeof(Block) + view.size())) Block{.size = view.size()};
  std::memcpy(copy.block_->bytes(), view.data(), view.size());
  return copy;
}

void SharedBytes::end(Block* block) noexcept {
  const std::size_t size = sizeof(Block) + block->size;
  block->~Block();
  pool_free(block, size);
}

}  // namespace spotmesh

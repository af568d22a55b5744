#include <spotmesh/bytes.hpp>

#include <cstring>
#include <new>

#include "base/pool.hpp"

namespace spotmesh {

SharedBytes::Block* SharedBytes::make(std::size_t size) {
  return new (pool_allocate(sizeof(Block) + size)) Block{.size = size};
}

SharedBytes SharedBytes::copy_of(ByteView view) {
  SharedBytes copy;
  if (view.empty()) return copy;
  copy.block_ = make(view.size());
  std::memcpy(copy.block_->bytes(), view.data(), view.size());
  return copy;
}

SharedBytes SharedBytes::joined(ByteView first, ByteView second) {
  if (first.empty()) return copy_of(second);
  if (second.empty()) return copy_of(first);
  SharedBytes both;
  both.block_ = make(first.size() + second.size());
  std::memcpy(both.block_->bytes(), first.data(), first.size());
  std::memcpy(both.block_->bytes() + first.size(), second.data(), second.size());
  return both;
}

void SharedBytes::end(Block* block) noexcept {
  const std::size_t size = sizeof(Block) + block->size;
  block->~Block();
  pool_free(block, size);
}

}  // namespace spotmesh

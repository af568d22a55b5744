#include <algorithm>
#include <spotmesh/codec/builder.hpp>
#include <stdexcept>

namespace spotmesh::codec {
namespace {

constexpr std::uint32_t vtable_head_bytes = 2 * sizeof(std::uint16_t);
constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max();

template <typename T>
void store(std::uint8_t* place, T value) {
  std::memcpy(place, &value, sizeof(value));
}

std::uint16_t load_size(const std::uint8_t* vtable) {
  std::uint16_t size = 0;
  std::memcpy(&size, vtable, sizeof(size));
  return size;
}

}  // namespace

std::uint32_t Builder::string(std::string_view text) {
  align_for(text.size() + 1, sizeof(std::uint32_t));
  *take(1) = 0;
  push_bytes(text.data(), text.size());
  push(static_cast<std::uint32_t>(text.size()));
  return size();
}

void Builder::begin_vector(std::size_t bytes, std::size_t alignment) {
  if (bytes == 0) return;
  align_for(bytes, sizeof(std::uint32_t));
  align_for(bytes, alignment);
}

std::uint32_t Builder::end_table(std::uint32_t start) {
  push(std::int32_t{0});  // where the vtable lies, known only below
  const std::uint32_t table = size();
  const std::size_t table_bytes = table - start;
  if (table_bytes > std::numeric_limits<std::uint16_t>::max()) {
    throw std::length_error("a packet's table is longer than 65535 bytes");
  }
  const auto vtable_bytes = static_cast<std::uint16_t>(
      std::max<std::uint32_t>(highest_field_ + sizeof(std::uint16_t), vtable_head_bytes));
  std::uint8_t* vtable = take(vtable_bytes);
  std::memset(vtable, 0, vtable_bytes);
  store(vtable, vtable_bytes);
  store(vtable + sizeof(std::uint16_t), static_cast<std::uint16_t>(table_bytes));
  for (std::size_t index = 0; index < fields_.size(); ++index) {
    const Field each = fields_[index];
    store(vtable + each.field, static_cast<std::uint16_t>(table - each.position));
  }
  fields_.clear();
  highest_field_ = 0;

  std::uint32_t used = size();
  for (std::size_t index = 0; index < vtables_.size(); ++index) {
    const std::uint8_t* known = at(vtables_[index]);
    if (load_size(known) != vtable_bytes || std::memcmp(known, vtable, vtable_bytes) != 0) continue;
    used = vtables_[index];
    cursor_ = at(table);
    break;
  }
  if (used == size()) vtables_.add(used);
  store(at(table), static_cast<std::int32_t>(used) - static_cast<std::int32_t>(table));
  return table;
}

void Builder::finish(std::uint32_t root) {
  align_for(sizeof(std::uint32_t), largest_alignment_);
  push_offset(root);
}

void Builder::grow(std::size_t count) {
  const std::size_t used = size();
  if (count > most_bytes - used) {
    throw std::length_error("a packet is longer than a FlatBuffer can be");
  }
  const auto capacity = static_cast<std::size_t>(end_ - begin_);
  const std::size_t larger = std::max(2 * capacity, used + count);
  auto bytes = std::make_unique_for_overwrite<std::uint8_t[]>(larger);
  std::uint8_t* end = bytes.get() + larger;
  std::memcpy(end - used, cursor_, used);
  grown_ = std::move(bytes);
  begin_ = grown_.get();
  end_ = end;
  cursor_ = end - used;
}

}  // namespace spotmesh::codec

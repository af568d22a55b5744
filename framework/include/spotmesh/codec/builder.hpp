// The bytes of one FlatBuffer, for the Encoder.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace spotmesh::codec {

static_assert(std::endian::native == std::endian::little,
              "packets are copied between memory and FlatBuffers, which are little-endian");

// Writes a FlatBuffer from its end to its beginning, byte for byte as FlatBufferBuilder does, whose
// generality costs more than all else that is done for a short packet. What is written lies in the
// object itself until it outgrows that. A position is the number of bytes from there to the end.
//
// Vectors and strings come before the table that refers to them; between begin_table() and
// end_table() come only the fields of that table.
class Builder {
 public:
  Builder() = default;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(end_ - cursor_); }

  void align(std::size_t alignment) { align_for(0, alignment); }
  void push_bytes(const void* bytes, std::size_t count) {
    if (count == 0) return;
    std::memcpy(take(count), bytes, count);
  }
  // A scalar, aligned.
  template <typename T>
  void push(T value) {
    align(sizeof(T));
    std::memcpy(take(sizeof(T)), &value, sizeof(T));
  }
  // An offset to what lies at `position`.
  void push_offset(std::uint32_t position) {
    align(sizeof(std::uint32_t));
    push(size() - position + static_cast<std::uint32_t>(sizeof(std::uint32_t)));
  }

  std::uint32_t string(std::string_view text);
  // Before the elements, which are `bytes` together, are pushed, the last of them first.
  void begin_vector(std::size_t bytes, std::size_t alignment);
  std::uint32_t end_vector(std::size_t count) {
    push(static_cast<std::uint32_t>(count));
    return size();
  }

  std::uint32_t begin_table() const { return size(); }
  // `field` is the place of the field in the vtable; its value was pushed last.
  void note_field(std::uint16_t field) {
    fields_.add({size(), field});
    if (field > highest_field_) highest_field_ = field;
  }
  std::uint32_t end_table(std::uint32_t start);

  // Ends the buffer; the bytes lie at data() and are size() many.
  void finish(std::uint32_t root);
  const std::uint8_t* data() const { return cursor_; }

 private:
  // A few in the object, more on the heap.
  template <typename T, std::size_t inline_count>
  class List {
   public:
    void add(T value) {
      if (count_ < inline_count) {
        few_[count_] = value;
      } else {
        more_.push_back(value);
      }
      ++count_;
    }
    T operator[](std::size_t index) const {
      return index < inline_count ? few_[index] : more_[index - inline_count];
    }
    std::size_t size() const { return count_; }
    void clear() {
      count_ = 0;
      more_.clear();
    }

   private:
    std::array<T, inline_count> few_;
    std::vector<T> more_;
    std::size_t count_ = 0;
  };
  struct Field {
    std::uint32_t position;
    std::uint16_t field;
  };

  std::uint8_t* take(std::size_t count) {
    if (static_cast<std::size_t>(cursor_ - begin_) < count) [[unlikely]] {
      grow(count);
    }
    return cursor_ -= count;
  }
  // Pads so that what is pushed next is aligned when `bytes` have been pushed before it.
  void align_for(std::size_t bytes, std::size_t alignment) {
    if (alignment > largest_alignment_) largest_alignment_ = alignment;
    const std::size_t padding = (~(size() + bytes) + 1) & (alignment - 1);
    if (padding > 0) std::memset(take(padding), 0, padding);
  }
  std::uint8_t* at(std::uint32_t position) const { return end_ - position; }
  // Throws std::length_error beyond what a FlatBuffer can address.
  void grow(std::size_t count);

  static constexpr std::size_t first_bytes = 512;

  std::size_t largest_alignment_ = 1;
  std::uint16_t highest_field_ = 0;
  List<Field, 16> fields_;          // of the table that is being written
  List<std::uint32_t, 8> vtables_;  // tables of one layout share theirs
  std::unique_ptr<std::uint8_t[]> grown_;
  std::array<std::uint8_t, first_bytes> first_;
  std::uint8_t* begin_ = first_.data();
  std::uint8_t* end_ = first_.data() + first_.size();
  std::uint8_t* cursor_ = end_;
};

}  // namespace spotmesh::codec

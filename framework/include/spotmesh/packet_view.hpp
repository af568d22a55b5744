// Zero-copy reading of packets: what the generated `name.views.hpp` builds on.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <spotmesh/codec/decoder.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/packet.hpp>
#include <string_view>
#include <type_traits>

namespace spotmesh {

// The elements of a vector in a packet, read in place: scalars, enums, structs (copied out),
// std::string_view or the views of tables. It refers to the packet's bytes, which must outlive it.
template <typename T>
class VectorView {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = T;

    Iterator() = default;
    Iterator(codec::Elements elements, std::uint32_t index) : elements_(elements), index_(index) {}
    T operator*() const { return read(elements_, index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      auto before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const Iterator& left, const Iterator& right) {
      return left.index_ == right.index_;
    }

   private:
    codec::Elements elements_;
    std::uint32_t index_ = 0;
  };

  VectorView() = default;
  explicit VectorView(codec::Elements elements) : elements_(elements) {}

  std::size_t size() const { return elements_.count; }
  bool empty() const { return size() == 0; }
  // `index` is less than size().
  T operator[](std::size_t index) const {
    return read(elements_, static_cast<std::uint32_t>(index));
  }
  Iterator begin() const { return {elements_, 0}; }
  Iterator end() const { return {elements_, elements_.count}; }

 private:
  static T read(codec::Elements elements, std::uint32_t index) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      return codec::read_at<T>(elements.first + index * sizeof(codec::WireScalarType<T>));
    } else if constexpr (std::same_as<T, std::string_view>) {
      return codec::decode_string(elements.target(index));
    } else if constexpr (std::constructible_from<T, const flatbuffers::Table&>) {
      return T(*reinterpret_cast<const flatbuffers::Table*>(elements.target(index)));
    } else {
      return codec::decode_structure<T>(elements.first + index * codec::StructCodec<T>::size);
    }
  }

  codec::Elements elements_;
};

namespace codec {

// The root of `bytes` once they are verified as packet T. InvalidOperation when they do not begin
// at a multiple of 8.
template <typename T>
Result<const flatbuffers::Table*> view_packet(ByteView bytes) {
  const auto name = PacketTraits<T>::descriptor().name;
  if (!AlignedBytes::is_aligned(bytes)) {
    return fail(Error::invalid_operation("a view of " + std::string(name) +
                                         " needs bytes at an address that is a multiple of 8; the "
                                         "payload of a Message is"));
  }
  if (!Verifier(bytes).root<T>()) return fail(unsound_packet(name));
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return reinterpret_cast<const flatbuffers::Table*>(
      first + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(first));
}

}  // namespace codec
}  // namespace spotmesh

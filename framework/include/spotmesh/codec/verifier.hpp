// Verification of packets that come from elsewhere, for generated code.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <spotmesh/bytes.hpp>
#include <spotmesh/codec/traits.hpp>
#include <spotmesh/limits.hpp>

namespace spotmesh::codec {

// FlatBuffers' verifier, and what it leaves out: strings are UTF-8, vectors are aligned, unions
// have a type and a value or neither, and the packet written without sharing fits
// limits::message_bytes. The last one matters because FlatBuffers lets a million offsets point to
// one string: small on the wire, and without a bound a catastrophe once it is decoded to values.
// Every function answers whether the bytes are sound so far.
class Verifier {
 public:
  // `bytes` begin at an address that is a multiple of 8 (see AlignedBytes).
  explicit Verifier(ByteView bytes);

  template <typename T>
  bool root() {
    if (bytes_.size() < sizeof(flatbuffers::uoffset_t) + sizeof(flatbuffers::soffset_t)) {
      return false;
    }
    const auto offset = verifier_.VerifyOffset(0);
    return offset != 0 && table<T>(begin() + offset);
  }

  template <typename T>
  bool scalar(const flatbuffers::Table& table, std::uint16_t field) const {
    using Wire = WireScalarType<T>;
    return table.VerifyField<Wire>(verifier_, field, sizeof(Wire));
  }

  template <typename T>
  bool structure(const flatbuffers::Table& table, std::uint16_t field, Presence presence) const {
    if (presence == Presence::required) {
      return table.VerifyFieldRequired<StructBytes<T>>(verifier_, field, StructCodec<T>::alignment);
    }
    return table.VerifyField<StructBytes<T>>(verifier_, field, StructCodec<T>::alignment);
  }

  bool string(const flatbuffers::Table& table, std::uint16_t field, Presence presence);
  bool strings(const flatbuffers::Table& table, std::uint16_t field, Presence presence);

  template <typename T>
  bool scalars(const flatbuffers::Table& table, std::uint16_t field, Presence presence) {
    using Wire = WireScalarType<T>;
    return vector(table, field, sizeof(Wire), sizeof(Wire), presence);
  }

  template <typename T>
  bool structures(const flatbuffers::Table& table, std::uint16_t field, Presence presence) {
    return vector(table, field, StructCodec<T>::size, StructCodec<T>::alignment, presence);
  }

  template <typename T>
  bool table(const flatbuffers::Table& table, std::uint16_t field, Presence presence) {
    if (!offset(table, field, presence)) return false;
    const auto* child = table.GetPointer<const std::uint8_t*>(field);
    return child == nullptr || this->table<T>(child);
  }

  template <typename T>
  bool tables(const flatbuffers::Table& table, std::uint16_t field, Presence presence) {
    return each(table, field, presence,
                [this](std::uint32_t, const std::uint8_t* child) { return this->table<T>(child); });
  }

  template <typename TypeEnum>
  bool union_value(const flatbuffers::Table& table, std::uint16_t type_field, std::uint16_t field,
                   Presence presence) {
    if (!scalar<TypeEnum>(table, type_field) || !offset(table, field, presence)) return false;
    const auto type = table.GetField<std::uint8_t>(type_field, 0);
    const auto* value = table.GetPointer<const std::uint8_t*>(field);
    if ((type == 0) != (value == nullptr)) return false;
    return value == nullptr ||
           UnionCodec<TypeEnum>::verify(*this, static_cast<TypeEnum>(type), value);
  }

  template <typename TypeEnum>
  bool union_values(const flatbuffers::Table& table, std::uint16_t type_field, std::uint16_t field,
                    Presence presence) {
    if (!vector(table, type_field, 1, 1, presence)) return false;
    const auto* types = table.GetPointer<const flatbuffers::Vector<std::uint8_t>*>(type_field);
    std::uint32_t count = 0;
    const bool sound = each(table, field, presence, [&](std::uint32_t index, const auto* value) {
      ++count;
      if (types == nullptr || index >= types->size() || types->Get(index) == 0) return false;
      return UnionCodec<TypeEnum>::verify(*this, static_cast<TypeEnum>(types->Get(index)), value);
    });
    return sound && count == (types == nullptr ? 0 : types->size());
  }

  // The alternatives of a union, by the address that its offset leads to.
  template <typename T>
  bool table(const std::uint8_t* address) {
    const auto& table = *reinterpret_cast<const flatbuffers::Table*>(address);
    return begin_table(table) && TableCodec<T>::verify(*this, table) && verifier_.EndTable();
  }
  template <typename T>
  bool structure(const std::uint8_t* address) {
    const auto position = static_cast<std::size_t>(address - begin());
    return verifier_.VerifyAlignment(position, StructCodec<T>::alignment) &&
           verifier_.Verify(position, StructCodec<T>::size) && charge(StructCodec<T>::size);
  }
  bool string(const std::uint8_t* address);

 private:
  const std::uint8_t* begin() const { return reinterpret_cast<const std::uint8_t*>(bytes_.data()); }
  bool begin_table(const flatbuffers::Table& table);
  bool offset(const flatbuffers::Table& table, std::uint16_t field, Presence presence) const;
  bool vector(const flatbuffers::Table& table, std::uint16_t field, std::size_t element_size,
              std::size_t alignment, Presence presence);
  // Counts bytes as if every reference had its own copy.
  bool charge(std::size_t size);

  // Calls `check(index, address)` for each element of a vector of offsets.
  template <typename Check>
  bool each(const flatbuffers::Table& table, std::uint16_t field, Presence presence, Check check) {
    using Offsets = flatbuffers::Vector<flatbuffers::uoffset_t>;
    if (!vector(table, field, sizeof(flatbuffers::uoffset_t), sizeof(flatbuffers::uoffset_t),
                presence)) {
      return false;
    }
    const auto* offsets = table.GetPointer<const Offsets*>(field);
    if (offsets == nullptr) return true;
    for (std::uint32_t index = 0; index < offsets->size(); ++index) {
      const auto* slot = offsets->Data() + index * sizeof(flatbuffers::uoffset_t);
      const auto distance = verifier_.VerifyOffset(static_cast<std::size_t>(slot - begin()));
      if (distance == 0 || !check(index, slot + distance)) return false;
    }
    return true;
  }

  ByteView bytes_;
  flatbuffers::Verifier verifier_;
  std::size_t unshared_size_ = 0;
};

// `bytes` as they are if they begin at a multiple of 8, otherwise a copy that does: scalars of a
// FlatBuffer are read in place, and a payload in the middle of a frame may begin anywhere.
class AlignedBytes {
 public:
  explicit AlignedBytes(ByteView bytes);
  ByteView view() const { return view_; }
  static bool is_aligned(ByteView bytes);

 private:
  Bytes copy_;
  ByteView view_;
};

template <typename T>
bool verify_packet(ByteView bytes) {
  const AlignedBytes aligned(bytes);
  return Verifier(aligned.view()).root<T>();
}

}  // namespace spotmesh::codec

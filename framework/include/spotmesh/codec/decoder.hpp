// Decoding of verified packets into value structs, for generated code.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <spotmesh/boxed.hpp>
#include <spotmesh/bytes.hpp>
#include <spotmesh/codec/traits.hpp>
#include <spotmesh/codec/verifier.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/packet.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace spotmesh::codec {

// ProtocolError: the packet's name and that its bytes are unsound.
Error unsound_packet(std::string_view name);

template <typename T>
T from_wire(WireScalarType<T> value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

// Scalars of a struct's bytes; `read_at` and `write_at` do not care for alignment.
template <typename T>
T read_at(const std::uint8_t* address) {
  WireScalarType<T> value;
  std::memcpy(&value, address, sizeof(value));
  return from_wire<T>(value);
}
template <typename T>
void write_at(std::uint8_t* address, T value) {
  const auto wire = static_cast<WireScalarType<T>>(value);
  std::memcpy(address, &wire, sizeof(wire));
}

template <typename T>
T decode_scalar(const flatbuffers::Table& table, std::uint16_t field,
                std::type_identity_t<T> default_value) {
  using Wire = WireScalarType<T>;
  return from_wire<T>(table.GetField<Wire>(field, static_cast<Wire>(default_value)));
}

template <typename T>
std::optional<T> decode_scalar(const flatbuffers::Table& table, std::uint16_t field) {
  if (!table.CheckField(field)) return std::nullopt;
  return decode_scalar<T>(table, field, T{});
}

std::string_view decode_string(const std::uint8_t* address);
std::string_view decode_string(const flatbuffers::Table& table, std::uint16_t field);
ByteView decode_bytes(const flatbuffers::Table& table, std::uint16_t field);
std::vector<std::string> decode_strings(const flatbuffers::Table& table, std::uint16_t field);

// Where the elements of a vector lie, and how many there are; none when the vector is left out.
struct Elements {
  const std::uint8_t* first = nullptr;
  std::uint32_t count = 0;

  // The address that element `index` of a vector of offsets leads to.
  const std::uint8_t* target(std::uint32_t index) const {
    const auto* slot = first + index * sizeof(flatbuffers::uoffset_t);
    return slot + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(slot);
  }
};
Elements decode_elements(const flatbuffers::Table& table, std::uint16_t field);

template <typename T>
std::vector<T> decode_scalars(const flatbuffers::Table& table, std::uint16_t field) {
  const auto elements = decode_elements(table, field);
  std::vector<T> values;
  values.reserve(elements.count);
  for (std::uint32_t index = 0; index < elements.count; ++index) {
    values.push_back(read_at<T>(elements.first + index * sizeof(WireScalarType<T>)));
  }
  return values;
}

template <typename T>
T decode_structure(const std::uint8_t* address) {
  T value;
  StructCodec<T>::read(address, value);
  return value;
}

template <typename T>
std::optional<T> decode_structure(const flatbuffers::Table& table, std::uint16_t field) {
  const auto* address = table.GetStruct<const std::uint8_t*>(field);
  if (address == nullptr) return std::nullopt;
  return decode_structure<T>(address);
}

template <typename T>
std::vector<T> decode_structures(const flatbuffers::Table& table, std::uint16_t field) {
  const auto elements = decode_elements(table, field);
  std::vector<T> values(elements.count);
  for (std::uint32_t index = 0; index < elements.count; ++index) {
    StructCodec<T>::read(elements.first + index * StructCodec<T>::size, values[index]);
  }
  return values;
}

template <typename T>
T decode_table(const std::uint8_t* address) {
  T value;
  TableCodec<T>::decode(*reinterpret_cast<const flatbuffers::Table*>(address), value);
  return value;
}

// A required table, which verified bytes have.
template <typename T>
T decode_required_table(const flatbuffers::Table& table, std::uint16_t field) {
  return decode_table<T>(table.GetPointer<const std::uint8_t*>(field));
}

// `Optional` is std::optional<T> or Boxed<T>.
template <typename T, typename Optional>
void decode_table(const flatbuffers::Table& table, std::uint16_t field, Optional& value) {
  const auto* address = table.GetPointer<const std::uint8_t*>(field);
  if (address == nullptr) {
    value.reset();
  } else {
    value = decode_table<T>(address);
  }
}

template <typename T>
std::vector<T> decode_tables(const flatbuffers::Table& table, std::uint16_t field) {
  const auto elements = decode_elements(table, field);
  std::vector<T> values;
  values.reserve(elements.count);
  for (std::uint32_t index = 0; index < elements.count; ++index) {
    values.push_back(decode_table<T>(elements.target(index)));
  }
  return values;
}

template <typename TypeEnum>
typename UnionCodec<TypeEnum>::Value decode_union(const flatbuffers::Table& table,
                                                  std::uint16_t type_field, std::uint16_t field) {
  typename UnionCodec<TypeEnum>::Value value;
  const auto type = decode_scalar<TypeEnum>(table, type_field, TypeEnum{});
  if (type != TypeEnum{}) {
    UnionCodec<TypeEnum>::decode(type, table.GetPointer<const std::uint8_t*>(field), value);
  }
  return value;
}

template <typename TypeEnum>
std::vector<typename UnionCodec<TypeEnum>::Value> decode_unions(const flatbuffers::Table& table,
                                                                std::uint16_t type_field,
                                                                std::uint16_t field) {
  const auto types = decode_elements(table, type_field);
  const auto elements = decode_elements(table, field);
  std::vector<typename UnionCodec<TypeEnum>::Value> values(elements.count);
  for (std::uint32_t index = 0; index < elements.count; ++index) {
    UnionCodec<TypeEnum>::decode(static_cast<TypeEnum>(types.first[index]), elements.target(index),
                                 values[index]);
  }
  return values;
}

// Of bytes that are sound and aligned.
template <typename T>
T decode_root(ByteView bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return decode_table<T>(first + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(first));
}

template <typename T>
Result<T> decode_packet(ByteView bytes) {
  const AlignedBytes aligned(bytes);
  if (!Verifier(aligned.view()).root<T>()) {
    return fail(unsound_packet(PacketTraits<T>::descriptor().name));
  }
  return decode_root<T>(aligned.view());
}

template <typename T>
T decode_sound_packet(ByteView bytes) {
  return decode_root<T>(AlignedBytes(bytes).view());
}

}  // namespace spotmesh::codec

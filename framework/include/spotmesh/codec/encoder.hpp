// Encoding of value structs, for generated code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <spotmesh/boxed.hpp>
#include <spotmesh/bytes.hpp>
#include <spotmesh/codec/builder.hpp>
#include <spotmesh/codec/traits.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace spotmesh::codec {

// Builds one packet. The functions of the first group write what a table refers to and return its
// offset, 0 for what is left out: an optional member that is empty. Those of the second group fill
// the table itself. The order of calls decides the bytes: children in the order of the schema, then
// the table's fields from the widest to the narrowest. JSON by schema keeps the same order, so that
// a packet has the same bytes whichever way it was made.
class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  template <typename T>
  static Bytes encode(const T& packet) {
    Encoder encoder;
    const ByteView encoded = encoder.finish(encoder.table(packet));
    return {encoded.begin(), encoded.end()};
  }
  template <typename T>
  static SharedBytes encode_shared(const T& packet) {
    Encoder encoder;
    return SharedBytes::copy_of(encoder.finish(encoder.table(packet)));
  }

  std::uint32_t string(const std::string& value, Presence presence);
  std::uint32_t strings(const std::vector<std::string>& values, Presence presence);
  std::uint32_t bytes(const Bytes& value, Presence presence);
  std::uint32_t scalars(const std::vector<bool>& values, Presence presence);

  template <typename T>
  std::uint32_t scalars(const std::vector<T>& values, Presence presence) {
    if (values.empty() && presence == Presence::optional) return 0;
    return scalar_vector(values.data(), values.size(), sizeof(WireScalarType<T>));
  }

  template <typename T>
  std::uint32_t structures(const std::vector<T>& values, Presence presence) {
    if (values.empty() && presence == Presence::optional) return 0;
    std::vector<StructBytes<T>> bytes(values.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
      StructCodec<T>::write(bytes[index].data(), values[index]);
    }
    const auto size = values.size() * StructCodec<T>::size;
    builder_.begin_vector(size, StructCodec<T>::alignment);
    builder_.push_bytes(bytes.data(), size);
    return builder_.end_vector(values.size());
  }

  // Throws std::length_error when tables nest deeper than limits::packet_depth: no receiver would
  // take the packet.
  template <typename T>
  std::uint32_t table(const T& value) {
    enter_table();
    const auto offset = TableCodec<T>::encode(*this, value);
    --depth_;
    return offset;
  }
  template <typename T>
  std::uint32_t table(const std::optional<T>& value) {
    return value ? table(*value) : 0;
  }
  template <typename T>
  std::uint32_t table(const Boxed<T>& value) {
    return value ? table(*value) : 0;
  }

  template <typename T>
  std::uint32_t tables(const std::vector<T>& values, Presence presence) {
    if (values.empty() && presence == Presence::optional) return 0;
    std::vector<std::uint32_t> offsets;
    offsets.reserve(values.size());
    for (const T& value : values) offsets.push_back(table(value));
    return vector_of(offsets);
  }

  template <typename T>
  std::uint32_t structure(const T& value) {
    push_structure(value);
    return builder_.size();
  }

  // Throws std::logic_error that names `field` when it is required and empty.
  template <typename TypeEnum>
  std::uint32_t union_value(const typename UnionCodec<TypeEnum>::Value& value, Presence presence,
                            const char* field) {
    if (UnionCodec<TypeEnum>::type(value) == TypeEnum{}) {
      if (presence == Presence::required) refuse_empty_union(field);
      return 0;
    }
    return UnionCodec<TypeEnum>::encode(*this, value);
  }

  template <typename TypeEnum>
  std::uint32_t union_types(const std::vector<typename UnionCodec<TypeEnum>::Value>& values,
                            Presence presence) {
    std::vector<TypeEnum> types;
    types.reserve(values.size());
    for (const auto& value : values) types.push_back(UnionCodec<TypeEnum>::type(value));
    return scalars(types, presence);
  }

  // A vector has no place for a union without a value, so an empty element is refused like a
  // required one.
  template <typename TypeEnum>
  std::uint32_t union_values(const std::vector<typename UnionCodec<TypeEnum>::Value>& values,
                             Presence presence, const char* field) {
    if (values.empty() && presence == Presence::optional) return 0;
    std::vector<std::uint32_t> offsets;
    offsets.reserve(values.size());
    for (const auto& value : values) {
      offsets.push_back(union_value<TypeEnum>(value, Presence::required, field));
    }
    return vector_of(offsets);
  }

  std::uint32_t begin_table() { return builder_.begin_table(); }
  std::uint32_t end_table(std::uint32_t start) { return builder_.end_table(start); }

  void add_offset(std::uint16_t field, std::uint32_t offset) {
    if (offset == 0) return;
    builder_.push_offset(offset);
    builder_.note_field(field);
  }
  // Left out when it has the default.
  template <typename T>
  void add_scalar(std::uint16_t field, T value, std::type_identity_t<T> default_value) {
    using Wire = WireScalarType<T>;
    // As FlatBufferBuilder has it, NaN is written also where the default is NaN.
    if (static_cast<Wire>(value) == static_cast<Wire>(default_value)) return;
    add_wire_scalar(field, static_cast<Wire>(value));
  }
  template <typename T>
  void add_scalar(std::uint16_t field, const std::optional<T>& value) {
    if (value) add_wire_scalar(field, static_cast<WireScalarType<T>>(*value));
  }
  template <typename T>
  void add_structure(std::uint16_t field, const T& value) {
    push_structure(value);
    builder_.note_field(field);
  }
  template <typename T>
  void add_structure(std::uint16_t field, const std::optional<T>& value) {
    if (value) add_structure(field, *value);
  }

 private:
  template <typename Wire>
  void add_wire_scalar(std::uint16_t field, Wire value) {
    builder_.push(value);
    builder_.note_field(field);
  }
  template <typename T>
  void push_structure(const T& value) {
    StructBytes<T> bytes{};
    StructCodec<T>::write(bytes.data(), value);
    builder_.align(StructCodec<T>::alignment);
    builder_.push_bytes(bytes.data(), bytes.size());
  }
  void enter_table();
  [[noreturn]] static void refuse_empty_union(const char* field);
  std::uint32_t scalar_vector(const void* values, std::size_t count, std::size_t width);
  std::uint32_t vector_of(const std::vector<std::uint32_t>& offsets);
  // Valid until the encoder ends.
  ByteView finish(std::uint32_t root);

  Builder builder_;
  std::uint32_t depth_ = 0;
};

}  // namespace spotmesh::codec

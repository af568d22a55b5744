// What generated code (spotmesh-packetc) specializes so that packets can hold other tables, structs
// and unions. Nothing here is for use by hand; a game uses the value structs, their views and
// PacketTraits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace flatbuffers {
class Table;
}

namespace spotmesh::codec {

class Verifier;
class Encoder;

// A table's value struct T:
//   static bool verify(Verifier&, const flatbuffers::Table&);      // the fields; depth and count
//   are the caller's work static std::uint32_t encode(Encoder&, const T&);               //
//   children first; returns the table's offset static void decode(const flatbuffers::Table&, T&);
//   // of verified bytes
template <typename T>
struct TableCodec;

// A struct's value struct T, which lies in `size` bytes of fixed layout:
//   static constexpr std::size_t size, alignment;
//   static void write(std::uint8_t*, const T&);
//   static void read(const std::uint8_t*, T&);
template <typename T>
struct StructCodec;

// A union, known by the enum that tells its alternatives apart:
//   using Value = std::variant<std::monostate, …>;
//   static bool verify(Verifier&, TypeEnum, const std::uint8_t* value);
//   static TypeEnum type(const Value&);
//   static std::uint32_t encode(Encoder&, const Value&);           // the value's offset; never
//   called for NONE static void decode(TypeEnum, const std::uint8_t* value, Value&);
template <typename TypeEnum>
struct UnionCodec;

// Whether a field may be left out of its table.
enum class Presence : std::uint8_t { optional, required };

// The scalar that stands for T in the bytes: bool and std::byte are octets, enums their underlying
// type.
template <typename T, bool is_enum = std::is_enum_v<T>>
struct WireScalar {
  using Type = T;
};
template <typename T>
struct WireScalar<T, true> {
  using Type = std::underlying_type_t<T>;
};
template <>
struct WireScalar<bool, false> {
  using Type = std::uint8_t;
};
template <typename T>
using WireScalarType = typename WireScalar<T>::Type;

// The bytes of a struct.
template <typename T>
using StructBytes = std::array<std::uint8_t, StructCodec<T>::size>;

}  // namespace spotmesh::codec

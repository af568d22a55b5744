// Packets: the typed messages of a game. Generated code (spotmesh-packetc) specializes PacketTraits
// for each table of a schema; the runtime sees packets only through their descriptors.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

namespace spotmesh {

// A stable hash of the packet's full name: the first four bytes of SHA-256, big-endian. The schema
// compiler refuses a collision and the value 0.
struct PacketId {
  std::uint32_t value = 0;
  friend bool operator==(const PacketId&, const PacketId&) = default;
  friend auto operator<=>(const PacketId&, const PacketId&) = default;
};

// All that the runtime needs to know of one packet type. Descriptors are constants of generated
// code: they live as long as the program and are compared by address within one process.
struct PacketDescriptor {
  PacketId id;
  std::string_view name;     // "tictactoe.PlaceMark"
  ByteView schema;           // the binary FlatBuffers schema (.bfbs) that contains the table `name`
  bool (*verify)(ByteView);  // whether the bytes are a sound FlatBuffer of this table, nesting and
                             // table count bounded
};

// The packets of one schema, sorted by name: `tictactoe::packets()` in generated code.
using PacketSet = std::span<const PacketDescriptor* const>;

// Specialized by generated code for each packet type T, a plain value struct:
//   static const PacketDescriptor& descriptor();
//   static Bytes encode(const T&);
//   static SharedBytes encode_shared(const T&);  // the same bytes
//   static Result<T> decode(ByteView);   // verifies first; ProtocolError names the packet
//   static T decode_sound(ByteView);     // of bytes that descriptor().verify has found sound
template <typename T>
struct PacketTraits;

template <typename T>
concept Packet = requires(const T& packet, ByteView bytes) {
  { PacketTraits<T>::descriptor() } -> std::same_as<const PacketDescriptor&>;
  { PacketTraits<T>::encode(packet) } -> std::same_as<Bytes>;
  { PacketTraits<T>::encode_shared(packet) } -> std::same_as<SharedBytes>;
  { PacketTraits<T>::decode(bytes) } -> std::same_as<Result<T>>;
  { PacketTraits<T>::decode_sound(bytes) } -> std::same_as<T>;
};

}  // namespace spotmesh

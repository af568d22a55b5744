// The frame around every stored record: magic, kind, format version, checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <flatbuffers/flatbuffers.h>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

namespace spotmesh::location {

enum class RecordKind : std::uint8_t {
  Lease = 1,
  Beat,
  LeaseCounter,
  Node,
  Authority,
  TopicMark,
  Checkpoint
};
std::string_view to_string(RecordKind kind);

inline constexpr std::uint8_t record_format_version = 1;
// Eight bytes, so that the FlatBuffer behind it keeps its alignment.
inline constexpr std::size_t record_header_bytes = 8;

Bytes frame_record(RecordKind kind, const flatbuffers::FlatBufferBuilder& builder);

// The FlatBuffer of a record that carries this frame soundly. `aligned` holds a copy of it when
// `value` does not lie as FlatBuffers need it.
Result<ByteView> open_record(std::string_view key, RecordKind kind, ByteView value, Bytes& aligned);

// DataLost that names the key and what is wrong with it.
Error damaged_record(std::string_view key, RecordKind kind, std::string_view fault);

}  // namespace spotmesh::location

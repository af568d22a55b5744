#include "location/record_format.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "location/keys.hpp"

namespace spotmesh::location {
namespace {

constexpr std::byte magic[2] = {std::byte{'S'}, std::byte{'m'}};

// FNV-1a: finds what was cut, mixed or written over; it is no defence against anybody.
std::uint32_t checksum(std::uint8_t kind, std::uint8_t version, ByteView payload) {
  std::uint32_t sum = 0x811c9dc5;
  const auto add = [&sum](std::uint8_t byte) { sum = (sum ^ byte) * 0x01000193; };
  add(kind);
  add(version);
  for (const std::byte byte : payload) add(static_cast<std::uint8_t>(byte));
  return sum;
}

}  // namespace

std::string_view to_string(RecordKind kind) {
  switch (kind) {
    case RecordKind::Lease:
      return "lease";
    case RecordKind::Beat:
      return "beat";
    case RecordKind::LeaseCounter:
      return "lease counter";
    case RecordKind::Node:
      return "node descriptor";
    case RecordKind::Authority:
      return "authority";
    case RecordKind::TopicMark:
      return "topic mark";
    case RecordKind::Checkpoint:
      return "checkpoint";
  }
  return "unknown";
}

Bytes frame_record(RecordKind kind, const flatbuffers::FlatBufferBuilder& builder) {
  const ByteView payload = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  const auto kind_byte = static_cast<std::uint8_t>(kind);
  const std::uint32_t sum = checksum(kind_byte, record_format_version, payload);
  Bytes value;
  value.reserve(record_header_bytes + payload.size());
  value.insert(value.end(), std::begin(magic), std::end(magic));
  value.push_back(std::byte{kind_byte});
  value.push_back(std::byte{record_format_version});
  for (int shift = 0; shift < 32; shift += 8) {
    value.push_back(static_cast<std::byte>((sum >> shift) & 0xff));
  }
  value.insert(value.end(), payload.begin(), payload.end());
  return value;
}

Error damaged_record(std::string_view key, RecordKind kind, std::string_view fault) {
  return Error::data_lost(fmt::format("the {} record at key \"{}\" is damaged: {}", to_string(kind),
                                      keys::printable(key), fault));
}

Result<ByteView> open_record(std::string_view key, RecordKind kind, ByteView value,
                             Bytes& aligned) {
  if (value.size() < record_header_bytes || !std::equal(magic, magic + 2, value.begin())) {
    return fail(damaged_record(key, kind, "it is no record"));
  }
  const auto found_kind = static_cast<std::uint8_t>(value[2]);
  if (found_kind != static_cast<std::uint8_t>(kind)) {
    return fail(damaged_record(key, kind, fmt::format("it is of another kind, {}", found_kind)));
  }
  const auto version = static_cast<std::uint8_t>(value[3]);
  if (version != record_format_version) {
    return fail(damaged_record(key, kind,
                               fmt::format("it has format version {}; this build knows {}", version,
                                           record_format_version)));
  }
  std::uint32_t stored_sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    stored_sum |= static_cast<std::uint32_t>(value[4 + i]) << (8 * i);
  }
  ByteView payload = value.subspan(record_header_bytes);
  if (checksum(found_kind, version, payload) != stored_sum) {
    return fail(damaged_record(key, kind, "its checksum does not fit"));
  }
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(std::uint64_t) != 0) {
    aligned.assign(payload.begin(), payload.end());
    payload = aligned;
  }
  return payload;
}

}  // namespace spotmesh::location

// The records of the Location Store: whatever stands under a key, it is a sound value or DataLost,
// and a sound value survives being written.
#include <spotmesh/ids.hpp>
#include <string>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "location/checkpoint.hpp"
#include "location/record_format.hpp"
#include "location/records.hpp"
#include "location/topic_record.hpp"

namespace spotmesh::fuzz {
namespace {

constexpr std::string_view any_key = "spotmesh/actor/\n\xff";
// A topic's mark names the node that its key ends with.
constexpr std::string_view mark_key = "spotmesh/topic/0123456789abcdef/s/n1";

// With a head that fits, so that the fuzzer need not guess a checksum.
Bytes framed(std::uint8_t kind, const Bytes& payload) {
  std::uint32_t sum = 0x811c9dc5;
  const auto add = [&sum](std::uint8_t byte) { sum = (sum ^ byte) * 0x01000193; };
  add(kind);
  add(location::record_format_version);
  for (const std::byte byte : payload) add(std::to_integer<std::uint8_t>(byte));
  Bytes value = to_bytes("Sm");
  value.push_back(std::byte{kind});
  value.push_back(std::byte{location::record_format_version});
  for (int shift = 0; shift < 32; shift += 8) value.push_back(std::byte(sum >> shift & 0xff));
  value.insert(value.end(), payload.begin(), payload.end());
  return value;
}

// What a record keeps on the heap for texts that anybody may have written.
std::size_t text_bytes(const location::NodeDescriptor& node) {
  std::size_t bytes = 0;
  for (const auto& mesh : node.meshes) {
    bytes += mesh.mesh.size();
    for (const auto& type : mesh.actor_types) bytes += type.text().size();
    for (const auto& type : mesh.spot_types) bytes += type.name.text().size();
  }
  require(node.meshes.size() <= location::max_meshes_per_node,
          "a node has a bounded number of meshes");
  return bytes;
}
std::size_t text_bytes(const location::AuthorityRecord& record) {
  std::size_t bytes = record.mesh.size();
  for (const auto& terminal : record.terminals) {
    if (terminal.reply) bytes += terminal.reply->payload.size();
    require(is_valid_utf8(terminal.key.source_rid.text), "a node id can be shown");
  }
  require(record.terminals.size() <= location::max_terminals_per_record,
          "an id has a bounded number of terminals");
  return bytes;
}
std::size_t text_bytes(const auto&) { return 0; }

template <typename Record>
void check(Result<Record> (*decode)(std::string_view, ByteView), const Bytes& value,
           std::string_view key = any_key) {
  const auto record = decode(key, value);
  if (!record) {
    require(record.error().kind() == ErrorKind::DataLost, "a refusal is DataLost");
    require(is_valid_utf8(record.error().message()) &&
                record.error().message().find('\n') == std::string::npos,
            "a refusal can be shown on one line");
    return;
  }
  require(text_bytes(*record) <= value.size(), "a record is not larger than its value");
  const auto again = decode(key, encode(*record));
  require(again.has_value() && *again == *record, "a record survives being written");
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const auto choice = input.take_byte();
  const auto kind = static_cast<std::uint8_t>(1 + choice % 6);
  const Bytes payload = input.rest();
  const Bytes value = (choice & 0x80) != 0 ? payload : framed(kind, payload);
  switch (static_cast<location::RecordKind>(kind)) {
    case location::RecordKind::Lease:
      return check(&location::decode_lease, value);
    case location::RecordKind::Beat:
      return check(&location::decode_beat, value);
    case location::RecordKind::LeaseCounter:
      return check(&location::decode_lease_counter, value);
    case location::RecordKind::Node:
      return check(&location::decode_node, value);
    case location::RecordKind::Authority:
      return check(&location::decode_authority, value);
    case location::RecordKind::TopicMark:
      return check(&location::decode_topic_mark, value, mark_key);
    case location::RecordKind::Checkpoint:
      return check(&location::decode_checkpoint, value);
  }
}

}  // namespace spotmesh::fuzz

#include "location/records.hpp"

#include <algorithm>
#include <utility>

#include <location_generated.h>

#include <spotmesh/limits.hpp>

#include "location/record_format.hpp"
#include "wire/text.hpp"

namespace spotmesh::location {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <typename Id>
stored::Id128 stored_id(const Id& id) {
  return stored::Id128(id.high, id.low);
}

Offset<flatbuffers::String> text(FlatBufferBuilder& builder, const std::string& value) {
  return builder.CreateString(value);
}

Offset<stored::OwnerStamp> stamp(FlatBufferBuilder& builder, const OwnerStamp& value) {
  const auto owner = text(builder, value.owner.text());
  const auto rid = text(builder, value.rid.text);
  const auto lifecycle = stored_id(value.lifecycle);
  return stored::CreateOwnerStamp(builder, owner, value.lease_generation.value, rid, &lifecycle);
}

auto types(FlatBufferBuilder& builder, const std::vector<StableType>& values) {
  std::vector<Offset<flatbuffers::String>> offsets;
  for (const StableType& type : values) offsets.push_back(text(builder, type.text()));
  return builder.CreateVector(offsets);
}

auto capacity(FlatBufferBuilder& builder, const CapacityHint& value) {
  return stored::CreateCapacity(builder, value.active, value.pending, value.limit);
}

Offset<stored::MeshPart> mesh_part(FlatBufferBuilder& builder, const MeshPart& value) {
  const auto mesh = text(builder, value.mesh);
  const auto actor_types = types(builder, value.actor_types);
  std::vector<Offset<stored::SpotType>> spot_types;
  for (const SpotTypeHint& each : value.spot_types) {
    const auto name = text(builder, each.name.text());
    spot_types.push_back(stored::CreateSpotType(builder, name, each.taken, each.limit));
  }
  const auto all_spot_types = builder.CreateVector(spot_types);
  const auto actors = capacity(builder, value.actors);
  const auto spots = capacity(builder, value.spots);
  return stored::CreateMeshPart(builder, mesh, value.is_object_server, value.is_object_client,
                                value.weight, value.pending_limit, actor_types, all_spot_types,
                                actors, spots);
}

Offset<stored::Membership> membership(FlatBufferBuilder& builder, const Membership& value) {
  const auto spot = text(builder, value.spot.text());
  return stored::CreateMembership(builder, spot, value.spot_generation.value,
                                  value.spot_owner_generation_at_join.value,
                                  value.owner_follows_spot);
}

Offset<stored::Reply> reply(FlatBufferBuilder& builder, const StoredReply& value) {
  const ByteView bytes = value.payload.view();
  const auto payload =
      builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return stored::CreateReply(builder, value.packet.value, payload);
}

Offset<stored::Terminal> terminal(FlatBufferBuilder& builder, const TerminalRecord& value) {
  const auto rid = text(builder, value.key.source_rid.text);
  Offset<stored::Reply> stored_reply;
  if (value.reply) stored_reply = reply(builder, *value.reply);
  Offset<flatbuffers::String> message;
  if (value.error) message = text(builder, value.error->message());
  const auto kind = value.error ? value.error->kind() : ErrorKind{};
  const auto lifecycle = stored_id(value.key.source_lifecycle);
  const auto operation = stored_id(value.key.operation);
  return stored::CreateTerminal(
      builder, rid, &lifecycle, &operation, static_cast<stored::OperationKind>(value.kind),
      static_cast<stored::TerminalOutcome>(value.outcome), value.object_generation.value,
      stored_reply, static_cast<std::uint8_t>(kind), message, value.keep_until.unix_milliseconds);
}

// What a game decides the size of.
std::size_t answer_bytes(const TerminalRecord& terminal) {
  return (terminal.reply ? terminal.reply->payload.size() : 0) +
         (terminal.error ? terminal.error->message().size() : 0);
}

}  // namespace

Bytes encode(const LeaseRecord& record) {
  FlatBufferBuilder builder;
  const auto owner = stamp(builder, record.stamp);
  builder.Finish(
      stored::CreateLease(builder, owner, static_cast<stored::LeaseState>(record.state)));
  return frame_record(RecordKind::Lease, builder);
}

Bytes encode(const BeatRecord& record) {
  FlatBufferBuilder builder;
  builder.Finish(stored::CreateBeat(builder, record.beat));
  return frame_record(RecordKind::Beat, builder);
}

Bytes encode(const LeaseCounterRecord& record) {
  FlatBufferBuilder builder;
  const auto epoch = stored_id(record.epoch);
  builder.Finish(stored::CreateLeaseCounter(builder, record.last.value, &epoch, record.is_settled));
  return frame_record(RecordKind::LeaseCounter, builder);
}

Bytes encode(const NodeDescriptor& record) {
  FlatBufferBuilder builder;
  const auto owner = stamp(builder, record.stamp);
  const auto version = text(builder, record.application_version);
  const auto address = text(builder, record.advertised_address);
  std::vector<Offset<stored::MeshPart>> meshes;
  for (const MeshPart& each : record.meshes) meshes.push_back(mesh_part(builder, each));
  const auto all_meshes = builder.CreateVector(meshes);
  builder.Finish(stored::CreateNode(builder, owner, record.is_stream_gateway, version,
                                    static_cast<stored::HostState>(record.state), address,
                                    all_meshes));
  return frame_record(RecordKind::Node, builder);
}

Bytes encode(const AuthorityRecord& record) {
  FlatBufferBuilder builder;
  const auto stable_type = text(builder, record.stable_type.text());
  const auto owner = stamp(builder, record.owner);
  const auto mesh = text(builder, record.mesh);
  Offset<stored::Membership> member;
  if (record.membership) member = membership(builder, *record.membership);
  std::vector<Offset<stored::Terminal>> terminals;
  for (const TerminalRecord& each : record.terminals) {
    terminals.push_back(terminal(builder, each));
  }
  const auto all_terminals = builder.CreateVector(terminals);
  const auto reservation = stored_id(record.reservation);
  const auto reserved_in = stored_id(record.reserved_in);
  builder.Finish(stored::CreateAuthority(
      builder, static_cast<stored::AuthorityState>(record.state),
      static_cast<stored::ObjectKind>(record.kind), stable_type, record.object_generation.value,
      record.owner_generation.value, record.takeover_count, owner, mesh, &reservation, member,
      all_terminals, &reserved_in));
  return frame_record(RecordKind::Authority, builder);
}

const MeshPart* NodeDescriptor::find_mesh(std::string_view name) const {
  const auto found = std::ranges::find(meshes, name, &MeshPart::mesh);
  return found == meshes.end() ? nullptr : &*found;
}

const TerminalRecord* find_terminal(const AuthorityRecord& record, const OperationKey& key) {
  const auto found = std::find_if(record.terminals.begin(), record.terminals.end(),
                                  [&](const TerminalRecord& each) { return each.key == key; });
  return found == record.terminals.end() ? nullptr : &*found;
}

void add_terminal(AuthorityRecord& record, TerminalRecord terminal, WallTime now) {
  auto& terminals = record.terminals;
  std::erase_if(terminals, [&](const TerminalRecord& each) {
    return each.key == terminal.key || each.keep_until.unix_milliseconds < now.unix_milliseconds;
  });
  if (terminal.error) {
    terminal.error = Error(terminal.error->kind(),
                           wire::as_utf8(terminal.error->message(), limits::peer_error_bytes));
  }
  terminals.push_back(std::move(terminal));
  std::size_t bytes = 0;
  for (const TerminalRecord& each : terminals) bytes += answer_bytes(each);
  // The new one always stays: a reply is bounded where it is made.
  while (terminals.size() > 1 &&
         (terminals.size() > max_terminals_per_record || bytes > max_terminal_bytes)) {
    bytes -= answer_bytes(terminals.front());
    terminals.erase(terminals.begin());
  }
}

}  // namespace spotmesh::location

#include "location/checkpoint.hpp"

#include <utility>

#include <location_generated.h>

#include "location/keys.hpp"
#include "location/record_format.hpp"

namespace spotmesh::location {

Bytes encode(const CheckpointRecord& record) {
  flatbuffers::FlatBufferBuilder builder;
  const auto type = builder.CreateString(record.stable_type.text());
  const auto state = builder.CreateVector(
      reinterpret_cast<const std::uint8_t*>(record.state.data()), record.state.size());
  builder.Finish(stored::CreateCheckpoint(builder, type, record.object_generation.value,
                                          record.sequence, state));
  return frame_record(RecordKind::Checkpoint, builder);
}

Result<CheckpointRecord> decode_checkpoint(std::string_view key, ByteView value) {
  Bytes aligned;
  const auto opened = open_record(key, RecordKind::Checkpoint, value, aligned);
  if (!opened) return fail(opened.error());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(opened->data());
  flatbuffers::Verifier verifier(bytes, opened->size());
  if (!verifier.VerifyBuffer<stored::Checkpoint>(nullptr)) {
    return fail(damaged_record(key, RecordKind::Checkpoint, "its fields lie outside of it"));
  }
  const auto* table = flatbuffers::GetRoot<stored::Checkpoint>(bytes);
  auto type = StableType::parse(table->stable_type()->string_view());
  if (!type) return fail(damaged_record(key, RecordKind::Checkpoint, type.error().message()));
  CheckpointRecord record{.stable_type = *std::move(type),
                          .object_generation = {table->object_generation()},
                          .sequence = table->sequence(),
                          .state = {}};
  if (const auto* state = table->state()) {
    const auto* first = reinterpret_cast<const std::byte*>(state->data());
    record.state.assign(first, first + state->size());
  }
  return record;
}

Commit write_checkpoint(const LeaseView& lease, const ActorId& id,
                        const VersionedAuthority& authority, const Condition& spot,
                        const std::optional<StoreVersion>& before,
                        const CheckpointRecord& checkpoint) {
  const std::string key = keys::checkpoint(id);
  Commit commit = owned_commit(lease);
  commit.conditions.push_back({keys::actor(id), authority.version});
  commit.conditions.push_back(spot);
  commit.conditions.push_back({key, before});
  commit.writes.push_back({key, encode(checkpoint)});
  return commit;
}

}  // namespace spotmesh::location

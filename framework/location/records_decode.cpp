#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <location_generated.h>

#include "base/utf8.hpp"
#include "location/record_format.hpp"
#include "location/records.hpp"

namespace spotmesh::location {
namespace {

// Reads the fields of one record and remembers the first fault.
class Fields {
 public:
  Fields(std::string_view key, RecordKind kind) : key_(key), kind_(kind) {}

  // The verified root table, or null.
  template <typename Table>
  const Table* open(ByteView value) {
    auto payload = open_record(key_, kind_, value, aligned_);
    if (!payload) {
      error_ = payload.error();
      return nullptr;
    }
    size_ = payload->size();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(payload->data());
    flatbuffers::Verifier verifier(bytes, payload->size());
    if (!verifier.VerifyBuffer<Table>(nullptr)) {
      refuse("its fields are unsound");
      return nullptr;
    }
    return flatbuffers::GetRoot<Table>(bytes);
  }

  template <typename Id>
  std::optional<Id> id(const flatbuffers::String* text) {
    if (text == nullptr) {
      refuse("an id is missing");
      return std::nullopt;
    }
    auto parsed = Id::parse({text->c_str(), text->size()});
    if (!parsed) {
      refuse(parsed.error().message());
      return std::nullopt;
    }
    return std::move(*parsed);
  }

  // Any bytes: an error's message is the application's.
  std::string text(const flatbuffers::String* text) {
    return text != nullptr && is_unshared(text->size()) ? text->str() : std::string();
  }

  // A text that identifies something.
  std::string name(const flatbuffers::String* value) {
    std::string name = text(value);
    if (!is_valid_utf8(name)) refuse("a name is not UTF-8");
    return name;
  }

  NodeRid rid(const flatbuffers::String* value) {
    if (value != nullptr && value->size() > max_id_bytes) refuse("a node id is too long");
    return NodeRid{name(value)};
  }

  template <typename Id>
  Id id128(const stored::Id128* id) {
    if (id == nullptr) return {};
    return {id->high(), id->low()};
  }

  template <typename Counter>
  Counter counter(std::uint64_t value) {
    return Counter{number(value)};
  }
  std::uint64_t number(std::uint64_t value) {
    if (value > max_counter) refuse("a counter is out of range");
    return value;
  }

  template <typename Enum, typename Stored>
  Enum choice(Stored value) {
    if (value > Stored::MAX) refuse("an enumeration is out of range");
    return static_cast<Enum>(value);
  }

  std::optional<OwnerStamp> stamp(const stored::OwnerStamp* value) {
    auto owner = id<OwnerId>(value->owner());
    if (!owner) return std::nullopt;
    return OwnerStamp{.owner = std::move(*owner),
                      .lease_generation = counter<LeaseGeneration>(value->lease_generation()),
                      .rid = rid(value->rid()),
                      .lifecycle = id128<LifecycleId>(value->lifecycle())};
  }

  std::vector<StableType> types(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* values) {
    std::vector<StableType> types;
    if (values == nullptr) return types;
    for (const auto* value : *values) {
      auto type = is_unshared(value->size()) ? id<StableType>(value) : std::nullopt;
      if (!type) break;
      types.push_back(std::move(*type));
    }
    return types;
  }

  CapacityHint capacity(const stored::Capacity* value) {
    if (value == nullptr) return {};
    return {.active = value->active(), .pending = value->pending(), .limit = value->limit()};
  }

  std::vector<SpotTypeHint> spot_types(
      const flatbuffers::Vector<flatbuffers::Offset<stored::SpotType>>* values) {
    std::vector<SpotTypeHint> hints;
    if (values == nullptr) return hints;
    for (const auto* value : *values) {
      auto type = is_unshared(value->name()->size()) ? id<StableType>(value->name()) : std::nullopt;
      if (!type) break;
      hints.push_back({.name = std::move(*type), .taken = value->taken(), .limit = value->limit()});
    }
    return hints;
  }

  std::vector<MeshPart> meshes(
      const flatbuffers::Vector<flatbuffers::Offset<stored::MeshPart>>* values) {
    std::vector<MeshPart> meshes;
    if (values == nullptr) return meshes;
    if (values->size() > max_meshes_per_node) {
      refuse("it has too many meshes");
      return meshes;
    }
    for (const auto* value : *values) {
      meshes.push_back({.mesh = name(value->mesh()),
                        .is_object_server = value->is_object_server(),
                        .is_object_client = value->is_object_client(),
                        .weight = value->weight(),
                        .pending_limit = value->pending_limit(),
                        .actor_types = types(value->actor_types()),
                        .spot_types = spot_types(value->spot_types()),
                        .actors = capacity(value->actors()),
                        .spots = capacity(value->spots())});
    }
    return meshes;
  }

  std::optional<Membership> membership(const stored::Membership* value) {
    if (value == nullptr) return std::nullopt;
    auto spot = id<SpotId>(value->spot());
    if (!spot) return std::nullopt;
    return Membership{.spot = std::move(*spot),
                      .spot_generation = counter<ObjectGeneration>(value->spot_generation()),
                      .spot_owner_generation_at_join =
                          counter<AuthorityOwnerGeneration>(value->spot_owner_generation_at_join()),
                      .owner_follows_spot = value->owner_follows_spot()};
  }

  TerminalRecord terminal(const stored::Terminal* value) {
    TerminalRecord record;
    record.key = {rid(value->source_rid()), id128<LifecycleId>(value->source_lifecycle()),
                  id128<OperationId>(value->operation())};
    record.kind = choice<OperationKind>(value->kind());
    record.outcome = choice<TerminalOutcome>(value->outcome());
    record.object_generation = counter<ObjectGeneration>(value->object_generation());
    if (const auto* reply = value->reply()) {
      const auto* payload = reply->payload();
      const ByteView bytes = payload == nullptr
                                 ? ByteView()
                                 : std::as_bytes(std::span(payload->data(), payload->size()));
      if (is_unshared(bytes.size())) {
        record.reply = StoredReply{PacketId{reply->packet()}, SharedBytes::copy_of(bytes)};
      }
    }
    if (record.outcome == TerminalOutcome::Failed) {
      if (value->error_kind() >= error_kind_count) refuse("an error kind is out of range");
      record.error =
          Error(static_cast<ErrorKind>(value->error_kind()), text(value->error_message()));
    }
    record.keep_until = {value->keep_until_unix_ms()};
    return record;
  }

  std::vector<TerminalRecord> terminals(
      const flatbuffers::Vector<flatbuffers::Offset<stored::Terminal>>* values) {
    std::vector<TerminalRecord> terminals;
    if (values == nullptr) return terminals;
    if (values->size() > max_terminals_per_record) {
      refuse("it has too many terminals");
      return terminals;
    }
    for (const auto* value : *values) terminals.push_back(terminal(value));
    return terminals;
  }

  void refuse(std::string_view fault) {
    if (!error_) error_ = damaged_record(key_, kind_, fault);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  // In what we write no text stands for two. Where a million references lead to one text, it would
  // be copied a million times.
  bool is_unshared(std::size_t bytes) {
    // An empty text still costs the four bytes of its length.
    taken_ += bytes + sizeof(flatbuffers::uoffset_t);
    if (taken_ <= size_) return true;
    refuse("its texts are shared");
    return false;
  }

  std::string_view key_;
  RecordKind kind_;
  Bytes aligned_;
  std::size_t size_ = 0;   // of the value
  std::size_t taken_ = 0;  // by what has been copied out of it
  std::optional<Error> error_;
};

}  // namespace

Result<LeaseRecord> decode_lease(std::string_view key, ByteView value) {
  Fields fields(key, RecordKind::Lease);
  const auto* table = fields.open<stored::Lease>(value);
  if (table == nullptr) return fail(*fields.error());
  auto stamp = fields.stamp(table->stamp());
  const auto state = fields.choice<LeaseState>(table->state());
  if (fields.error()) return fail(*fields.error());
  return LeaseRecord{.stamp = std::move(*stamp), .state = state};
}

Result<BeatRecord> decode_beat(std::string_view key, ByteView value) {
  Fields fields(key, RecordKind::Beat);
  const auto* table = fields.open<stored::Beat>(value);
  if (table == nullptr) return fail(*fields.error());
  return BeatRecord{table->beat()};
}

Result<LeaseCounterRecord> decode_lease_counter(std::string_view key, ByteView value) {
  Fields fields(key, RecordKind::LeaseCounter);
  const auto* table = fields.open<stored::LeaseCounter>(value);
  if (table == nullptr) return fail(*fields.error());
  LeaseCounterRecord record{.last = fields.counter<LeaseGeneration>(table->last()),
                            .epoch = fields.id128<StoreEpoch>(table->epoch()),
                            .is_settled = table->is_settled()};
  if (fields.error()) return fail(*fields.error());
  return record;
}

Result<NodeDescriptor> decode_node(std::string_view key, ByteView value) {
  Fields fields(key, RecordKind::Node);
  const auto* table = fields.open<stored::Node>(value);
  if (table == nullptr) return fail(*fields.error());
  auto stamp = fields.stamp(table->stamp());
  if (!stamp) return fail(*fields.error());
  NodeDescriptor record{.stamp = std::move(*stamp),
                        .is_stream_gateway = table->is_stream_gateway(),
                        .application_version = fields.text(table->application_version()),
                        .state = fields.choice<HostState>(table->state()),
                        .advertised_address = fields.text(table->advertised_address()),
                        .meshes = fields.meshes(table->meshes())};
  if (fields.error()) return fail(*fields.error());
  return record;
}

Result<AuthorityRecord> decode_authority(std::string_view key, ByteView value) {
  Fields fields(key, RecordKind::Authority);
  const auto* table = fields.open<stored::Authority>(value);
  if (table == nullptr) return fail(*fields.error());
  auto stable_type = fields.id<StableType>(table->stable_type());
  auto owner = fields.stamp(table->owner());
  if (!stable_type || !owner) return fail(*fields.error());
  AuthorityRecord record{
      .state = fields.choice<AuthorityState>(table->state()),
      .kind = fields.choice<ObjectKind>(table->kind()),
      .stable_type = std::move(*stable_type),
      .object_generation = fields.counter<ObjectGeneration>(table->object_generation()),
      .owner_generation = fields.counter<AuthorityOwnerGeneration>(table->owner_generation()),
      .takeover_count = fields.number(table->takeover_count()),
      .owner = std::move(*owner),
      .mesh = fields.name(table->mesh()),
      .reservation = fields.id128<ReservationId>(table->reservation()),
      .reserved_in = fields.id128<StoreEpoch>(table->reserved_in()),
      .membership = fields.membership(table->membership()),
      .terminals = fields.terminals(table->terminals())};
  if (fields.error()) return fail(*fields.error());
  return record;
}

}  // namespace spotmesh::location

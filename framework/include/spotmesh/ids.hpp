// Identities. Each is a type of its own, so that none can be passed where another is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>

namespace spotmesh {

// Longest ActorId, SpotId and stable type, in bytes (not characters).
inline constexpr std::size_t max_id_bytes = 255;

// Whether `text` is UTF-8 of 1..255 bytes. The error is InvalidOperation and names `what`
// ("ActorId") and the fault. Ids compare byte by byte; nothing is normalized or folded.
Result<void> validate_id(std::string_view text, std::string_view what);

// A validated UTF-8 string of 1..255 bytes. `Tag::name` is the word used in error messages.
template <typename Tag>
class StringId {
 public:
  // InvalidOperation when `text` is empty, longer than 255 bytes or not UTF-8.
  static Result<StringId> parse(std::string_view text) {
    if (auto valid = validate_id(text, Tag::name); !valid) return fail(valid.error());
    return StringId(std::string(text));
  }

  const std::string& text() const { return text_; }
  friend bool operator==(const StringId&, const StringId&) = default;
  friend auto operator<=>(const StringId&, const StringId&) = default;

 private:
  explicit StringId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

struct ActorIdTag {
  static constexpr std::string_view name = "ActorId";
};
struct SpotIdTag {
  static constexpr std::string_view name = "SpotId";
};
struct StableTypeTag {
  static constexpr std::string_view name = "stable type";
};

// The logical identity of an Actor, unique in the whole Location Store namespace; the mesh is no
// part of it.
using ActorId = StringId<ActorIdTag>;
// The logical identity of a Spot, unique like an ActorId.
using SpotId = StringId<SpotIdTag>;
// The name under which a factory is registered and which stands in store records; never a class
// name.
using StableType = StringId<StableTypeTag>;

// A number with a meaning of its own.
template <typename Tag>
struct Counter {
  std::uint64_t value = 0;
  friend bool operator==(const Counter&, const Counter&) = default;
  friend auto operator<=>(const Counter&, const Counter&) = default;
};

// 1..2^63-1; new for each incarnation of an id, kept through every move. 0 is "none".
using ObjectGeneration = Counter<struct ObjectGenerationTag>;
// Grows by one each time the owner of the same incarnation changes; a new incarnation starts at 1.
using AuthorityOwnerGeneration = Counter<struct AuthorityOwnerGenerationTag>;
// Tells process runs of one owner apart; issued by a store counter that only grows.
using LeaseGeneration = Counter<struct LeaseGenerationTag>;

// The largest value of every counter above. An operation that would pass it is refused, nothing
// wraps.
inline constexpr std::uint64_t max_counter = 0x7fff'ffff'ffff'ffffULL;

// A random non-zero 128-bit id.
template <typename Tag>
struct Id128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool is_none() const { return high == 0 && low == 0; }
  friend bool operator==(const Id128&, const Id128&) = default;
  friend auto operator<=>(const Id128&, const Id128&) = default;
};

// Identifies one durable operation (create, join, bind) through all its resends.
using OperationId = Id128<struct OperationIdTag>;
// Identifies one reservation of an id in the Location Store.
using ReservationId = Id128<struct ReservationIdTag>;
// Tells two runs of a node apart; a restarted process never equals its former self.
using LifecycleId = Id128<struct LifecycleIdTag>;
// One client connection's session.
using SessionId = Id128<struct SessionIdTag>;

// 32 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t high, std::uint64_t low);
template <typename Tag>
std::string to_string(const Id128<Tag>& id) {
  return to_hex(id.high, id.low);
}

// The routing id of a node: `<prefix>-<uuid-v4>`, new at each start.
struct NodeRid {
  std::string text;
  friend bool operator==(const NodeRid&, const NodeRid&) = default;
  friend auto operator<=>(const NodeRid&, const NodeRid&) = default;
};

// Prefix of node and Entry Spot ids: `[A-Za-z0-9._-]{1,64}`. InvalidOperation otherwise.
Result<void> validate_prefix(std::string_view prefix);
// A version 4 UUID in text form from 128 random bits.
std::string uuid_v4(std::uint64_t high, std::uint64_t low);

// Where an Actor was at one moment: an immutable snapshot with value equality. It becomes stale
// when the Actor moves or is created anew. Messages are addressed by ActorId; only destroy and
// session bind take a ref.
struct ActorRef {
  ActorId actor_id;
  ObjectGeneration object_generation;
  std::string mesh_name;
  NodeRid node_rid;
  friend bool operator==(const ActorRef&, const ActorRef&) = default;
};

// Where a Spot was at one moment.
struct SpotRef {
  SpotId spot_id;
  ObjectGeneration object_generation;
  std::string mesh_name;
  NodeRid node_rid;
  friend bool operator==(const SpotRef&, const SpotRef&) = default;
};

}  // namespace spotmesh

template <typename Tag>
struct std::hash<spotmesh::StringId<Tag>> {
  std::size_t operator()(const spotmesh::StringId<Tag>& id) const noexcept {
    return std::hash<std::string_view>{}(id.text());
  }
};
template <typename Tag>
struct std::hash<spotmesh::Id128<Tag>> {
  std::size_t operator()(const spotmesh::Id128<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.high ^ (id.low * 0x9e3779b97f4a7c15ULL));
  }
};

// The records of the Location Store as plain values, and their encoding.
//
// A stored value is an 8-byte header (two letters of magic, the record kind, the format version, a
// checksum) and a FlatBuffer of schemas/location.fbs. decode_*() checks all of it before anything
// is read; a value that does not pass is DataLost with the key in the text. The reader quarantines
// that key: it treats it as neither present nor absent, reports it, and goes on with the rest.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/time.hpp>

#include "location/keys.hpp"
#include "location/node_descriptor.hpp"
#include "location/owner_stamp.hpp"
#include "location/store.hpp"

namespace spotmesh::location {

enum class LeaseState : std::uint8_t { Live, Fenced };

// A fence is final: that generation of that owner never writes again. An absent lease means the
// same (given back by a clean stop), except in the quiet time after a new epoch.
struct LeaseRecord {
  OwnerStamp stamp;
  LeaseState state = LeaseState::Live;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// Others see the owner live by this value moving; what it is means nothing.
struct BeatRecord {
  std::uint64_t beat = 0;
  friend bool operator==(const BeatRecord&, const BeatRecord&) = default;
};

// The last lease generation given out, and the store epoch in which that was true. While
// `is_settled` is false live owners may still be re-asserting what the store forgot.
struct LeaseCounterRecord {
  LeaseGeneration last;
  StoreEpoch epoch;
  bool is_settled = true;
  friend bool operator==(const LeaseCounterRecord&, const LeaseCounterRecord&) = default;
};

enum class ObjectKind : std::uint8_t { Actor, EntrySpot, UserSpot, InstanceSpot };

// Vacant: no object; the record stays only for the terminals of refused creations, so that a resend
// is answered as the first attempt was. To find() and create() it is the same as absent.
enum class AuthorityState : std::uint8_t { Vacant, Creating, Ready };

// Where an Actor is a member. Another ObjectGeneration in that Spot's record means that the Spot,
// and this Actor with it, has lost its owner.
struct Membership {
  SpotId spot;
  ObjectGeneration spot_generation;
  // The Spot's owner generation at the Join: the Actor's own has grown by as much as the Spot's
  // since. Only meaningful when owner_follows_spot.
  AuthorityOwnerGeneration spot_owner_generation_at_join;
  // In a SpotWide User Spot the Spot's record names the owner of all members, so a room of any size
  // moves by one write. Elsewhere the Actor's own record names it.
  bool owner_follows_spot = false;
  friend bool operator==(const Membership&, const Membership&) = default;
};

// Names one durable operation through all its resends.
struct OperationKey {
  NodeRid source_rid;
  LifecycleId source_lifecycle;
  OperationId operation;
  friend bool operator==(const OperationKey&, const OperationKey&) = default;
  friend auto operator<=>(const OperationKey&, const OperationKey&) = default;
};

// An encoded packet that the application answered with.
struct StoredReply {
  PacketId packet;
  SharedBytes payload;
  friend bool operator==(const StoredReply& a, const StoredReply& b) {
    return a.packet == b.packet && as_text(a.payload.view()) == as_text(b.payload.view());
  }
};

enum class OperationKind : std::uint8_t { Create, Join, Bind };
enum class TerminalOutcome : std::uint8_t { Accepted, Rejected, Failed };

// How a durable operation ended.
struct TerminalRecord {
  OperationKey key;
  OperationKind kind = OperationKind::Create;
  TerminalOutcome outcome = TerminalOutcome::Accepted;
  ObjectGeneration object_generation;  // of Accepted: the incarnation it speaks of
  std::optional<StoredReply> reply;    // of Accepted and Rejected
  std::optional<Error> error;          // of Failed
  // Hygiene only: a wrong wall clock makes a late resend a new operation, or keeps the record
  // longer.
  WallTime keep_until;
  friend bool operator==(const TerminalRecord& a, const TerminalRecord& b) {
    return a.key == b.key && a.kind == b.kind && a.outcome == b.outcome &&
           a.object_generation == b.object_generation && a.reply == b.reply && a.error == b.error &&
           a.keep_until.unix_milliseconds == b.keep_until.unix_milliseconds;
  }
};

// At most so many terminals stay with one id, and so many bytes of replies and error texts; the
// oldest go first.
inline constexpr std::size_t max_terminals_per_record = 16;
inline constexpr std::size_t max_terminal_bytes = 2 * 1024 * 1024;

// Who may run the object of an id, and in which state it is. One per ActorId and one per SpotId.
// Of a Vacant record only `kind`, `stable_type`, `takeover_count` and `terminals` mean something.
struct AuthorityRecord {
  AuthorityState state = AuthorityState::Creating;
  ObjectKind kind = ObjectKind::Actor;
  StableType stable_type;
  ObjectGeneration object_generation;
  AuthorityOwnerGeneration owner_generation;
  // How often the id was taken from a dead owner; with owner_generation it orders what two epochs
  // of a store say of one id.
  std::uint64_t takeover_count = 0;
  OwnerStamp owner;
  std::string mesh;
  ReservationId reservation;  // of the creation that made this incarnation
  // The store's epoch in which it was reserved. Of a Creating record: it can become Ready in no
  // other.
  StoreEpoch reserved_in;
  std::optional<Membership> membership;  // of a Ready Actor
  std::vector<TerminalRecord> terminals;
  friend bool operator==(const AuthorityRecord&, const AuthorityRecord&) = default;
};

const TerminalRecord* find_terminal(const AuthorityRecord& record, const OperationKey& key);
// Adds `terminal`, replacing one of the same key, and drops what is past its time at `now` or over
// the two bounds above.
void add_terminal(AuthorityRecord& record, TerminalRecord terminal, WallTime now);

Bytes encode(const LeaseRecord& record);
Bytes encode(const BeatRecord& record);
Bytes encode(const LeaseCounterRecord& record);
Bytes encode(const NodeDescriptor& record);
Bytes encode(const AuthorityRecord& record);

Result<LeaseRecord> decode_lease(std::string_view key, ByteView value);
Result<BeatRecord> decode_beat(std::string_view key, ByteView value);
Result<LeaseCounterRecord> decode_lease_counter(std::string_view key, ByteView value);
Result<NodeDescriptor> decode_node(std::string_view key, ByteView value);
Result<AuthorityRecord> decode_authority(std::string_view key, ByteView value);

}  // namespace spotmesh::location

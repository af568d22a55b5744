// Authority over an id: what the store says of it and of its owner, in one consistent reading, and
// the commits that act on it. Creating is create.hpp, looking up find.hpp, carrying one commit to a
// certain outcome settle.hpp; framework/docs/creation.md has the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "base/random.hpp"
#include "location/beat_watch.hpp"
#include "location/lease.hpp"
#include "location/records.hpp"
#include "location/store.hpp"
#include "runtime/faults.hpp"

namespace spotmesh::location {

// An id in the store: its key, and how to name it to people ("Actor 'player-7'").
struct ObjectKey {
  std::string key;
  std::string name;
  static ObjectKey of(const ActorId& id);
  static ObjectKey of(const SpotId& id);
};

// What this node itself has. Asked on the driver's strand, answered from memory.
class LocalObjects {
 public:
  virtual ~LocalObjects() = default;
  // Whether this node holds that incarnation, or has it pending (from create::TakeSlot on). A
  // record that names this run as owner of something it does not have is a leftover, and the id is
  // free.
  virtual bool has(std::string_view key, ObjectGeneration generation) const = 0;
};

// What the machines share. Everything outlives them and lives on the driver's strand.
struct AuthorityEnvironment {
  const LeaseView& lease;          // LeaseMachine::view()
  const BeatWatchMachine& owners;  // verdicts on other owners
  const LocalObjects& local;
  GenerationMint& mint;
  Random& random;
  // Null in production. Points: "create.skip-lease-condition", "create.skip-fence-check",
  // "create.skip-quiet-time", "create.over-living", "create.over-alive-owner",
  // "create.keep-forgotten", "create.forget-unknown", "reassert.after-admission".
  runtime::Faults* faults = nullptr;
};

struct VersionedAuthority {
  AuthorityRecord record;
  StoreVersion version;
};

// A Vacant record as it stands in the store.
struct VacantRecord {
  StoreVersion version;
  WallTime keep_until;  // of the terminal that stays the longest
};
VacantRecord vacant_record(const AuthorityRecord& record, const StoreVersion& version);

// One consistent reading of an id with everything that decides what it means.
struct AuthorityReading {
  StoreEpoch epoch;
  std::optional<VersionedAuthority> object;  // empty: no record
  std::optional<VersionedAuthority> spot;    // of a member whose owner follows its Spot
  std::optional<OwnerStamp> owner;           // the owner in effect; empty: Missing or OwnerLost
  std::optional<OwnerReading> owner_lease;   // of an owner other than this node
  // Conditions that hold exactly as long as the reading does: the object's version or absence, the
  // Spot's, and the owner's lease when that is over.
  std::vector<Condition> conditions;
};

// What such a reading means for whoever wants to find or create the id.
enum class Standing : std::uint8_t {
  Missing,   // no record, or a Vacant one
  Creating,  // a creation is under way at an owner that is not known to be dead
  Ready,     // alive at an owner that is known to be alive
  Unproven,  // Ready, but this node has not yet seen the owner's beat move
  Silent,    // Ready, the owner's lease has run out, this node's own too, and it is not yet fenced
  // Creating or Ready at an owner that is fenced or gone, or Creating since before the store
  // forgot: the id may be taken over.
  OwnerLost
};

// Reads an id in as few rounds as it takes: the record, then everything again together with what
// the record names (its Spot, its owner's lease and beat), until one reading has it all.
class AuthorityReader {
 public:
  AuthorityReader(std::string key, const AuthorityEnvironment& environment);

  // Forgets everything; the next round starts from the record alone.
  void restart();
  // The keys of the next round.
  const std::vector<std::string>& keys() const { return keys_; }
  // Takes a round's answer: true when reading() is complete, false when keys() must be read.
  // DataLost when a record does not parse.
  Result<bool> take(const ReadResult& result);

  const AuthorityReading& reading() const { return reading_; }
  Standing standing(Instant now) const;
  // Whether what the reading does not show may only be forgotten: in the quiet time of a new epoch
  // its owner may still write it again.
  bool is_uncertain(Instant now) const;
  // Whether it names this run as owner of what this run does not have.
  bool is_own_leftover() const;
  // The owner in effect, another's run, when the reading says that it is over for good.
  std::optional<OwnerStamp> owner_over(Instant now) const;
  // The keys alone: a reading that is complete is decided upon at once.
  void note(StateNotes& notes) const;

 private:
  // What one round showed at a key it asked for; null when it did not ask.
  const std::optional<StoredValue>* find(const ReadResult& result, std::string_view key) const;
  Result<bool> take_spot(const ReadResult& result, const Membership& membership);
  Result<bool> take_owner(const ReadResult& result);
  bool is_own(const OwnerStamp& stamp) const;
  // Reserved before the store forgot: its creation cannot end well any more, and may even have
  // ended, with its last write forgotten.
  bool is_forgotten() const;

  std::string key_;
  const AuthorityEnvironment& environment_;
  std::vector<std::string> keys_;
  AuthorityReading reading_;
};

// A commit that acts for this owner: conditional on its lease and on the epoch it was acquired or
// asserted in. Everything below starts from it. The lease must be held.
Commit owned_commit(const LeaseView& lease);
// Writes the record of an object this node owns, conditional on the version it knows: a membership,
// a terminal, a new state. An empty version: the key must be absent.
Commit write_object(const LeaseView& lease, std::string key, std::optional<StoreVersion> version,
                    const AuthorityRecord& record);
// Deletes the record of an object this node owns (destroy, close, a leftover).
Commit remove_object(const LeaseView& lease, std::string key, StoreVersion version);

// After a new epoch, for each object this node held when its admission had not yet run out.
enum class Reassertion : std::uint8_t {
  Keep,     // the store has exactly this record
  Write,    // the store forgot: write it, conditional on what was read
  StepDown  // the store shows a newer owner: drop the object
};
// The higher (takeover count, owner generation) wins; of equals, the one in the store unless it is
// this owner's own.
Reassertion decide_reassertion(const AuthorityRecord& own,
                               const std::optional<AuthorityRecord>& stored);

}  // namespace spotmesh::location

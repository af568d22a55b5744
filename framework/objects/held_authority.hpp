// HeldAuthority: what the store says of an Actor, in the form that the Actor's cell keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/authority.hpp"

namespace spotmesh::objects {

// What the records of many Actors have alike: all but the generations, the reservation, and which
// operations have ended.
struct AlikeAuthority {
  location::AuthorityState state;
  location::ObjectKind kind;
  StableType stable_type;
  location::OwnerStamp owner;
  std::string mesh;
  std::optional<location::Membership> membership;
  // Of the first terminal; nobody when there is none.
  NodeRid source_rid;
  LifecycleId source_lifecycle;
  friend bool operator==(const AlikeAuthority&, const AlikeAuthority&) = default;
};

// The parts of the members of one Spot. Kept for as many kinds as are at hand; what is forgotten
// here is only kept twice by the next that has it. Strand only.
class AuthorityParts {
 public:
  std::shared_ptr<const AlikeAuthority> find_or_add(AlikeAuthority wanted);

 private:
  static constexpr std::size_t kept = 8;
  std::vector<std::shared_ptr<const AlikeAuthority>> parts_;
};

// A VersionedAuthority in a quarter of its memory, for there is one in each of a million Actors.
class HeldAuthority {
 public:
  HeldAuthority(location::VersionedAuthority said, AuthorityParts& parts);

  const location::StoreVersion& version() const { return version_; }
  void set_version(const location::StoreVersion& version) { version_ = version; }
  AuthorityOwnerGeneration owner_generation() const { return owner_generation_; }
  location::AuthorityRecord record() const;
  location::VersionedAuthority unpacked() const { return {record(), version_}; }

 private:
  // One without a reply and an error, and of the source that is alike. Any other is kept as it is.
  struct Terminal {
    OperationId operation;
    ObjectGeneration object_generation;
    WallTime keep_until;
    location::OperationKind kind;
    location::TerminalOutcome outcome;
  };

  bool is_plain(const location::TerminalRecord& terminal) const;
  location::TerminalRecord unpack(const Terminal& terminal) const;

  location::StoreVersion version_;
  std::shared_ptr<const AlikeAuthority> alike_;
  ObjectGeneration object_generation_;
  AuthorityOwnerGeneration owner_generation_;
  std::uint64_t takeover_count_;
  ReservationId reservation_;
  std::optional<Terminal> terminal_;  // the only one, if it is plain
  std::unique_ptr<const std::vector<location::TerminalRecord>> terminals_;  // else all, if any
};

}  // namespace spotmesh::objects

// What the state of a machine consists of, for a test that explores all of them: two machines whose
// notes are equal behave alike from here on. Nothing in production takes notes.
#pragma once

#include <cstdint>
#include <string_view>

#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/machine.hpp"
#include "location/store.hpp"

namespace spotmesh::location {

// A machine notes every member that a later event can depend on. The kinds tell what of a value
// counts, so that states which differ only in what does not count can be told to be the same.
class StateNotes {
 public:
  virtual ~StateNotes() = default;
  virtual void number(std::uint64_t value) = 0;
  virtual void text(std::string_view value) = 0;
  // Only how far off it is counts, and nothing once it has come.
  virtual void deadline(Instant at) = 0;
  // Only how long ago it is counts.
  virtual void moment(Instant at) = 0;
  // Only whether it is the present version of the key counts, besides the epoch.
  virtual void version(std::string_view key, const StoreVersion& version) = 0;
  // Only which of the operations under way it names counts, or none.
  virtual void ticket(Ticket ticket) = 0;
  // Only which incarnation it is, among those of its lease, counts.
  virtual void generation(ObjectGeneration generation) = 0;
  // Failures in a row: only how long the next pause is counts.
  virtual void failures(unsigned count) = 0;

  void epoch(const StoreEpoch& epoch) {
    number(epoch.high);
    number(epoch.low);
  }
};

}  // namespace spotmesh::location

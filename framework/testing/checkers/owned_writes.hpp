// Owned writes: only whoever owns an object, under a live lease, writes its record.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "location/records.hpp"
#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

// For every write of an Actor's or Spot's record that is applied: the writer's lease stands live in
// the store at that moment; the record names the writer; and whoever owned the id before either is
// the writer, without the object still living there, or has no live lease any more.
class OwnedWritesChecker final : public Checker {
 public:
  explicit OwnedWritesChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "owned writes"; }
  void on_commit(const SimStore& store, std::string_view client, const location::Commit& commit,
                 Instant) override;

 private:
  void check_write(const LiveProcess* writer, std::string_view client,
                   const location::Write& write);
  void check_new_life(const LiveProcess& writer, const location::AuthorityRecord& before,
                      const location::Write& write);
  void see_lease(const location::Write& write);
  bool has_live_lease(const location::OwnerStamp& owner) const;

  std::set<std::string, std::less<>> ended_;  // owners whose lease was fenced or given back
};

}  // namespace spotmesh::testing

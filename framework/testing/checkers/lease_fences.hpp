// Lease fences: lease generations only grow within an epoch and never come back in another, and
// nobody is fenced who may still be at work.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <spotmesh/time.hpp>

#include "location/records.hpp"
#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class LeaseFencesChecker final : public Checker {
 public:
  explicit LeaseFencesChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "lease fences"; }
  void on_commit(const SimStore& store, std::string_view client, const location::Commit& commit,
                 Instant) override;
  // Where the counter is to go on is forgotten with it.
  void on_fail_over(const SimStore&) override { greatest_ = 0; }

 private:
  void check_lease(const std::string& key, std::string_view client,
                   const location::LeaseRecord& lease);

  std::uint64_t greatest_ = 0;  // in the store's present epoch
  std::set<std::uint64_t> given_out_;
  std::map<std::string, std::uint64_t, std::less<>> generation_of_;  // by owner
  std::map<std::string, Instant, std::less<>> last_beat_;            // by owner, in world time
};

}  // namespace spotmesh::testing

// Sound records: whatever is written to the Location Store can be read again.
#pragma once

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class SoundRecordsChecker final : public Checker {
 public:
  explicit SoundRecordsChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "sound records"; }
  void on_commit(const SimStore&, std::string_view client, const location::Commit& commit,
                 Instant) override;
};

}  // namespace spotmesh::testing

// Admission: no turn of an Actor or Spot runs, and nothing that one has said leaves, past what its
// node's last renewal has given.
#pragma once

#include <map>
#include <optional>

#include <spotmesh/time.hpp>

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

// Does not believe the node: reckons with the contract's own figure, from the true time at which
// the last beat that the store has taken was sent.
class AdmissionChecker final : public Checker {
 public:
  explicit AdmissionChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "admission"; }

  void on_turn_started(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant) override {
    see(node, mailbox, "runs a turn of");
  }
  void on_turn_resumed(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant) override {
    see(node, mailbox, "goes on with a turn of");
  }
  void on_flush(const SimNode& node, const runtime::Gate&,
                const runtime::Mailbox& mailbox) override {
    see(node, mailbox, "lets go what was said in a turn of");
  }
  void on_commit(const SimStore& store, std::string_view client, const location::Commit& commit,
                 Instant sent) override;

 private:
  void see(const SimNode& node, const runtime::Mailbox& mailbox, std::string_view what);

  std::map<const SimNode*, Instant> renewed_;  // when the last beat that was applied was sent
};

}  // namespace spotmesh::testing

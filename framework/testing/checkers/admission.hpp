// Admission: no turn of an Actor or Spot runs past the deadline of its node's lease.
#pragma once

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class AdmissionChecker final : public Checker {
 public:
  explicit AdmissionChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "admission"; }

  void on_turn_started(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant now) override {
    see(node, mailbox, now);
  }
  void on_turn_resumed(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant now) override {
    see(node, mailbox, now);
  }

 private:
  void see(const SimNode& node, const runtime::Mailbox& mailbox, Instant now);
};

}  // namespace spotmesh::testing

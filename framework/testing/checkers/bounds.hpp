// Bounds: no queue and no table of what is under way grows past its limit.
#pragma once

#include <cstdint>

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

// Looks at the mailbox of every turn, and now and then at the tables of its node.
class BoundsChecker final : public Checker {
 public:
  explicit BoundsChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "bounds"; }
  void on_turn_started(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant) override;

 private:
  static constexpr std::uint64_t look_every_turns = 64;
  void look_at(const LiveProcess& process);

  std::uint64_t turns_ = 0;
};

}  // namespace spotmesh::testing

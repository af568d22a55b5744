// Single owner: of one id, one incarnation runs at a time, in one process.
#pragma once

#include <map>
#include <set>
#include <string>

#include <spotmesh/ids.hpp>

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

// Looks at every stretch of a turn that runs: once another incarnation of the id has run anywhere,
// or the same one in another process, the former one never runs again.
class SingleOwnerChecker final : public Checker {
 public:
  explicit SingleOwnerChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "single owner"; }

  void on_turn_started(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant) override {
    see(node, mailbox);
  }
  void on_turn_resumed(const SimNode& node, const runtime::Gate&, const runtime::Mailbox& mailbox,
                       Instant) override {
    see(node, mailbox);
  }

 private:
  struct Runner {
    ObjectGeneration generation;
    const SimNode* process = nullptr;
    friend bool operator==(const Runner&, const Runner&) = default;
    friend auto operator<=>(const Runner& a, const Runner& b) {
      return std::pair(a.generation.value, a.process) <=> std::pair(b.generation.value, b.process);
    }
  };
  struct History {
    Runner present;
    std::set<Runner> former;
  };

  void see(const SimNode& node, const runtime::Mailbox& mailbox);

  std::map<std::string, History, std::less<>> by_id_;
};

}  // namespace spotmesh::testing

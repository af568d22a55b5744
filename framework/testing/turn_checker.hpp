// TurnChecker: a gate never has two turns at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/gate.hpp"

namespace spotmesh::testing {

// A turn that awaits goes on; one that yields ends and starts anew. Violations are collected, since
// an observer must not throw. Single-threaded.
class TurnChecker final : public runtime::TurnObserver {
 public:
  void on_turn_started(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                       Instant) override {
    const auto [open, is_new] = open_.emplace(&gate, &mailbox);
    if (!is_new) violations_.push_back("a turn started on a gate that had one already");
    open->second = &mailbox;
    ++turns_;
  }
  void on_turn_ended(const runtime::Gate& gate, const runtime::Mailbox& mailbox, Instant) override {
    const auto open = open_.find(&gate);
    if (open == open_.end() || open->second != &mailbox) {
      violations_.push_back("a turn ended on a gate that had not started it");
    } else {
      open_.erase(open);
    }
  }
  std::uint64_t turns() const { return turns_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  std::map<const runtime::Gate*, const runtime::Mailbox*> open_;
  std::uint64_t turns_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace spotmesh::testing

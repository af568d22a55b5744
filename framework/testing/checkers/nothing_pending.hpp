// Nothing pending: at rest no request, creation, claim, hold or message is left.
#pragma once

#include <string>

#include "runtime/mailbox.hpp"
#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class NothingPendingChecker final : public Checker {
 public:
  explicit NothingPendingChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "nothing pending"; }
  void look_at_rest() override;

 private:
  void look_at(const LiveProcess& process);
  void check_mailbox(const LiveProcess& process, const std::string& name,
                     const runtime::Mailbox& mailbox);
};

}  // namespace spotmesh::testing

// Leftovers: the Location Store has no record of an object that its node has not got, once nothing
// is under way: neither while the node serves nor after it has stopped in order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

// But for what a store has brought back that had been deleted: it is nobody's object, and its owner
// deletes it only when it is asked for the id. It is free once the lease is given back.
class LeftoversChecker final : public Checker {
 public:
  explicit LeftoversChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "leftovers"; }
  void on_commit(const SimStore& store, std::string_view client, const location::Commit& commit,
                 Instant) override;
  void on_fail_over(const SimStore& store) override;
  void look_at_rest() override;

 private:
  void look_at(const LiveProcess& process);

  // By key, the incarnation of each Actor and Spot that has a record.
  std::map<std::string, std::uint64_t, std::less<>> recorded_;
  std::set<std::pair<std::string, std::uint64_t>> brought_back_;
};

}  // namespace spotmesh::testing

// Two nodes that want one id and an observer, in every state they can come to. What is explored,
// and how many states there are: framework/docs/exploration.md.
#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "state_explorer.hpp"

using namespace spotmesh::testing;

namespace {

// More than any of these has; who comes to it fails.
constexpr std::size_t most_states = 1'000'000;

// Under a sanitizer, where each step takes several times as long, the two largest are smaller or
// left out.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_instrumented = true;
#else
constexpr bool is_instrumented = false;
#endif

Explored explored(const std::string& name, const ExploredFaults& faults) {
  Explored found = StateExplorer(faults, most_states).run();
  std::cout << fmt::format("{}: {} states, {} transitions, {} ends\n", name, found.states,
                           found.transitions, found.ends)
            << std::flush;
  return found;
}

void check_all(const std::string& name, const ExploredFaults& faults) {
  const Explored found = explored(name, faults);
  INFO(fmt::format("{}:\n{}", name, fmt::join(found.steps, "\n")));
  CHECK(found.violation == "");
  CHECK(found.ends > 0);
}

// With a rule taken away the exploration has to come upon what the rule is for.
void check_found(const ExploredFaults& faults, const std::string& violation) {
  const Explored found = explored("without it", faults);
  INFO(fmt::format("{}", fmt::join(found.steps, "\n")));
  CHECK(found.violation == violation);
}

}  // namespace

TEST_CASE("explored: three nodes acquire their leases at once, and two create one id",
          "[RACE-01][CREATE-07]") {
  check_all("from the start", {.from_start = true});
}

TEST_CASE("explored: two creations of one id", "[CREATE-07]") { check_all("no fault", {}); }

TEST_CASE("explored: one node ends, with or without a commit on its way",
          "[CREATE-15][LOSS-02][LOSS-05]") {
  check_all("an end", {.kill = true});
  check_all("an end, readings first", {.kill = true, .reads_first = true});
}

TEST_CASE("explored: one node stands still for as long as it likes, in the middle of a turn",
          "[LOSS-03][RACE-09]") {
  check_all("a standstill", {.stall = true});
  check_all("a standstill, readings first", {.stall = true, .reads_first = true});
  // Who fences it is the other node.
  check_all("a standstill in a turn", {.stall = true, .turn = true, .has_observer = false});
}

TEST_CASE("explored: the outcome of one commit is unknown, and it is applied late",
          "[RACE-04][CREATE-14][STORE-10]") {
  check_all("an unknown outcome", {.unknown = true});
  check_all("an unknown outcome and an end", {.kill = true, .unknown = true});
}

TEST_CASE("explored: the store is away for as long as it likes",
          "[RACE-08][STORE-09][STORE-11][LOSS-06]") {
  check_all("an outage", {.outage = true});
  check_all("an outage and an end", {.kill = true, .outage = true});
  check_all("an outage and an unknown outcome", {.unknown = true, .outage = true});
}

TEST_CASE("explored: the store forgets", "[RACE-01][STORE-08]") {
  check_all("a fail-over", {.failover = true, .has_observer = !is_instrumented});
}

TEST_CASE("explored: the store forgets, and one node ends", "[RACE-01][STORE-08][LOSS-05]") {
  if (is_instrumented) {
    WARN("left out under a sanitizer");
    return;
  }
  check_all("a fail-over and an end", {.kill = true, .failover = true, .has_observer = false});
}

TEST_CASE("without rule 1 there is explored: an id reserved in a quiet time", "[RACE-01]") {
  check_found({.failover = true, .defects = {"create.skip-quiet-time"}},
              "an id was reserved in the quiet time of a new epoch");
}

TEST_CASE("without rule 1 there are explored: two nodes that run one object", "[RACE-01]") {
  check_found({.failover = true, .checks_quiet = false, .defects = {"create.skip-quiet-time"}},
              "two nodes run one object");
}

TEST_CASE("without the epoch of a reservation there is explored: an id that stays Creating",
          "[RACE-01][RACE-04]") {
  check_found({.failover = true, .has_observer = false, .defects = {"create.keep-forgotten"}},
              "no way leads to an end");
}

TEST_CASE("without rule 4 at the creating node there is explored: a failure that took effect",
          "[RACE-04]") {
  check_found({.unknown = true, .defects = {"create.forget-unknown"}},
              "the store has what its node has told to have failed");
}

TEST_CASE("without rule 4 at the store there is explored: a failure that took effect",
          "[RACE-04]") {
  check_found({.unknown = true, .defects = {"store.settle-late"}},
              "the store has what its node has told to have failed");
}

TEST_CASE("without the condition on the lease there is explored: a write of a fenced node",
          "[STORE-06]") {
  check_found({.kill = true, .defects = {"create.skip-lease-condition"}},
              "a node that was fenced has written");
}

TEST_CASE("without rule 8 there is explored: a live node that is fenced", "[RACE-08]") {
  check_found({.outage = true,
               .has_observer = false,
               .has_all_orders = true,
               .defects = {"watch.skip-gap"}},
              "a node that lives was fenced");
}

TEST_CASE("without rule 9 there is explored: what a former owner says", "[RACE-09]") {
  check_found(
      {.stall = true, .turn = true, .has_observer = false, .defects = {"flush.past-deadline"}},
      "what a former owner had said left it after another had taken over");
}

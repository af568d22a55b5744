// Operations of other nodes: each runs once, and answers the same for as long as it is kept.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "objects/operation_table.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;

namespace {

using Admission = OperationTable::Admission;

struct Tally {
  explicit Tally(OperationTable::Bounds bounds = {}) : table(bounds) {}

  static location::OperationKey key(const std::string& node, std::uint64_t operation) {
    return {NodeRid{node}, LifecycleId{1, 1}, OperationId{1, operation}};
  }
  Admission admit(const std::string& node, std::uint64_t operation) {
    const mesh::Peer peer{NodeRid{node}, LifecycleId{1, 1}};
    return table.admit(key(node, operation), {peer, PeerKind::Create, ++calls, {}}, now);
  }
  OperationTable::Answer answer(const std::string& text) {
    return [this, text](const PeerMessage& call) {
      answered.push_back(text + " to " + std::to_string(call.call));
    };
  }
  void finish(const std::string& node, std::uint64_t operation, std::size_t bytes = 1,
              Duration kept = 5min) {
    table.finish(key(node, operation), answer(node + std::to_string(operation)), bytes, now + kept);
  }
  // Begun and ended at once.
  void run(const std::string& node, std::uint64_t operation, std::size_t bytes = 1,
           Duration kept = 5min) {
    REQUIRE(admit(node, operation) == Admission::Begin);
    finish(node, operation, bytes, kept);
  }
  bool keeps(const std::string& node, std::uint64_t operation) {
    const Admission admission = admit(node, operation);
    if (admission == Admission::Begin) table.forget(key(node, operation), answer("nothing"));
    return admission == Admission::Answered;
  }

  void pass(Duration time) { now = now + time; }

  OperationTable table;
  Instant now{1h};
  std::uint64_t calls = 0;
  std::vector<std::string> answered;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("an operation begins once, and its answer goes to the newest call", "[DURABLE-03]") {
  Tally counter;
  CHECK(counter.admit("a", 1) == Admission::Begin);
  CHECK(counter.admit("a", 1) == Admission::UnderWay);
  CHECK(counter.admit("b", 1) == Admission::Begin);
  CHECK(counter.table.under_way() == 2);
  counter.finish("a", 1);
  CHECK(counter.answered == Lines{"a1 to 2"});
  CHECK(counter.admit("a", 1) == Admission::Answered);
  CHECK(counter.answered == Lines{"a1 to 2", "a1 to 4"});
  CHECK(counter.table.under_way() == 1);
  CHECK(counter.table.answers() == 1);
}

TEST_CASE("an answer is kept for its time, and then it is a new operation", "[DURABLE-03]") {
  Tally counter;
  counter.run("a", 1, 1, 5min);
  counter.run("a", 2, 1, 1min);
  counter.pass(1min);
  CHECK_FALSE(counter.keeps("a", 2));
  counter.pass(4min - 1ns);
  CHECK(counter.keeps("a", 1));
  counter.pass(1ns);
  CHECK_FALSE(counter.keeps("a", 1));
  CHECK(counter.table.answers() == 0);
}

TEST_CASE("what a repetition may change is answered and not kept") {
  Tally counter;
  CHECK(counter.admit("a", 1) == Admission::Begin);
  counter.table.forget(counter.key("a", 1), counter.answer("not now"));
  CHECK(counter.answered == Lines{"not now to 1"});
  CHECK(counter.table.under_way() == 0);
  CHECK(counter.admit("a", 1) == Admission::Begin);
}

TEST_CASE("what has ended does not end again, and what nobody knows ends nothing") {
  Tally counter;
  counter.finish("a", 1);
  counter.table.forget(counter.key("a", 1), counter.answer("not now"));
  CHECK(counter.answered.empty());
  counter.run("a", 1);
  counter.finish("a", 1);
  counter.table.forget(counter.key("a", 1), counter.answer("not now"));
  CHECK(counter.answered == Lines{"a1 to 1"});
  CHECK(counter.table.under_way() == 0);
  CHECK(counter.table.answers() == 1);
}

TEST_CASE("what is under way is bounded, of one node and of all") {
  Tally counter({.under_way = 4, .under_way_per_node = 2});
  CHECK(counter.admit("a", 1) == Admission::Begin);
  CHECK(counter.admit("a", 2) == Admission::Begin);
  CHECK(counter.admit("a", 3) == Admission::Full);
  CHECK(counter.admit("a", 2) == Admission::UnderWay);
  CHECK(counter.admit("b", 1) == Admission::Begin);
  CHECK(counter.admit("b", 2) == Admission::Begin);
  CHECK(counter.admit("c", 1) == Admission::Full);
  counter.finish("a", 1);
  CHECK(counter.admit("c", 1) == Admission::Begin);
  CHECK(counter.admit("a", 3) == Admission::Full);
  counter.finish("b", 1);
  CHECK(counter.admit("a", 3) == Admission::Begin);
}

TEST_CASE("past the bounds whoever has the most answers loses his oldest") {
  Tally counter({.answers = 4});
  counter.run("b", 1, 1, 1min);
  for (std::uint64_t i = 1; i <= 4; ++i) counter.run("a", i, 1, 2min + std::chrono::seconds(i));
  CHECK(counter.table.answers() == 4);
  CHECK(counter.keeps("b", 1));
  CHECK_FALSE(counter.keeps("a", 1));
  CHECK(counter.keeps("a", 2));
}

TEST_CASE("the bytes of answers are bounded likewise") {
  Tally counter({.answer_bytes = 100});
  counter.run("b", 1, 30, 1min);
  counter.run("a", 1, 40);
  counter.run("a", 2, 30);
  CHECK(counter.table.answers() == 3);
  counter.run("a", 3, 1);
  CHECK(counter.keeps("b", 1));
  CHECK_FALSE(counter.keeps("a", 1));
  CHECK(counter.keeps("a", 2));
  CHECK(counter.keeps("a", 3));
  counter.run("a", 4, 101);  // alone, it is too large
  CHECK(counter.table.answers() <= 1);
}

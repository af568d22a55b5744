#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

using Trace = std::vector<std::string>;
using namespace std::chrono_literals;

TEST_CASE("mailboxes of one gate take turns, one job each") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto a = make_ref<Cell>(*gate);
  auto b = make_ref<Cell>(*gate);
  for (const char* name : {"a1", "a2", "a3"}) fixture.push(*a, fixture.noting(name));
  for (const char* name : {"b1", "b2"}) fixture.push(*b, fixture.noting(name));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a1", "b1", "a2", "b2", "a3"});
}

TEST_CASE("a gate gives way after 64 jobs", "[TURN-07]") {
  GateFixture fixture;
  auto busy = make_ref<Cell>(*fixture.make_gate());
  auto other = make_ref<Cell>(*fixture.make_gate());
  for (int i = 0; i < 130; ++i) fixture.push(*busy, fixture.noting("busy"));
  fixture.push(*other, fixture.noting("other"));
  REQUIRE(fixture.scheduler.run_one());
  CHECK(fixture.trace == Trace(64, "busy"));
  REQUIRE(fixture.scheduler.run_one());
  CHECK(fixture.trace.back() == "other");
  REQUIRE(fixture.scheduler.run_one());
  CHECK(fixture.trace.size() == 129);
  REQUIRE(fixture.scheduler.run_one());
  CHECK(fixture.trace.size() == 131);
  CHECK_FALSE(fixture.scheduler.run_one());
}

TEST_CASE("a gate that has just done 64 jobs and has no more goes idle") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  for (int i = 0; i < 64; ++i) fixture.push(*cell, fixture.noting("x"));
  fixture.scheduler.run_all();
  CHECK(fixture.scheduler.runs == 1);
}

TEST_CASE("a gate gives way after 1 ms", "[TURN-07]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  for (int i = 0; i < 8; ++i) {
    fixture.push(*cell, fixture.doing([&] {
      fixture.note("x");
      fixture.clock.advance(400us);
    }));
  }
  fixture.scheduler.run_one();
  CHECK(fixture.trace.size() == 3);  // the third ends at 1.2 ms
  fixture.scheduler.run_one();
  CHECK(fixture.trace.size() == 6);
  fixture.scheduler.run_all();
  CHECK(fixture.trace.size() == 8);
}

TEST_CASE("the time of a turn stands still in it and moves on between turns") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  auto number = make_completion<int>();
  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> {
    const Instant start = Turn::current()->now();
    fixture.clock.advance(10us);
    CHECK(Turn::current()->now() == start);
    co_await number->wait();
    CHECK(Turn::current()->now() == start + 25us);
  }));
  fixture.push(*cell, fixture.doing([&] {
    CHECK(Turn::current()->now() == fixture.clock.now());
    fixture.note("second");
  }));
  fixture.scheduler.run_all();
  fixture.clock.advance(15us);
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"second"});
}

TEST_CASE("a resumed turn goes ahead of new jobs, at most 16 in a row", "[YIELD-05]") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  std::vector<Ref<Cell>> yielding;
  auto number = std::vector<Ref<Completion<int>>>();
  for (int i = 0; i < 20; ++i) {
    yielding.push_back(make_ref<Cell>(*gate));
    number.push_back(make_completion<int>());
    fixture.push(*yielding.back(),
                 fixture.awaiting([&fixture, wanted = number.back()]() -> Task<void> {
                   co_await wanted->yield();
                   fixture.note("resumed");
                 }));
  }
  fixture.scheduler.run_all();
  auto cell = make_ref<Cell>(*gate);
  for (int i = 0; i < 2; ++i) fixture.push(*cell, fixture.noting("new"));
  for (auto& each : number) each->complete(1);
  fixture.scheduler.run_all();
  Trace expected(22, "resumed");
  expected[16] = expected[21] = "new";
  CHECK(fixture.trace == expected);
}

TEST_CASE("resumed turns are not held back when nothing else waits", "[YIELD-05]") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto cell = make_ref<Cell>(*gate);
  auto patient = make_ref<Cell>(*gate);
  // Yields over and over; every value is there a moment later.
  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> {
    for (int i = 0; i < 200; ++i) {
      auto number = make_completion<int>();
      fixture.push(*patient, fixture.doing([&fixture, number] {
        fixture.note("patient");
        number->complete(1);
      }));
      co_await number->yield();
      fixture.note("yielder");
    }
  }));
  fixture.scheduler.run_all();
  CHECK(std::count(fixture.trace.begin(), fixture.trace.end(), "yielder") == 200);
  CHECK(std::count(fixture.trace.begin(), fixture.trace.end(), "patient") == 200);
}

class OverlapChecker final : public TurnObserver {
 public:
  void on_turn_started(const Gate& gate, const Mailbox&, Instant) override {
    CHECK(++open[&gate] == 1);
    ++turns;
  }
  void on_turn_ended(const Gate& gate, const Mailbox&, Instant) override {
    CHECK(--open[&gate] == 0);
  }
  std::map<const Gate*, int> open;
  int turns = 0;
};

TEST_CASE("observers see turns that never overlap; a yield ends one and begins another",
          "[TURN-03][YIELD-01]") {
  GateFixture fixture;
  OverlapChecker checker;
  fixture.environment.observer = &checker;
  auto gate = fixture.make_gate();
  auto a = make_ref<Cell>(*gate);
  auto b = make_ref<Cell>(*gate);
  auto waited = make_completion<int>();
  auto yielded = make_completion<int>();
  fixture.push(*a, fixture.awaiting([&]() -> Task<void> {
    co_await waited->wait();
    co_await yielded->yield();
  }));
  fixture.push(*b, fixture.noting("b"));
  fixture.scheduler.run_all();
  CHECK(checker.turns == 1);
  CHECK(checker.open[gate.get()] == 1);
  waited->complete(1);
  fixture.scheduler.run_all();
  CHECK(checker.turns == 2);
  yielded->complete(1);
  fixture.scheduler.run_all();
  CHECK(checker.turns == 3);
  CHECK(checker.open[gate.get()] == 0);
}

TEST_CASE("an abandoned turn has ended for observers") {
  GateFixture fixture;
  OverlapChecker checker;
  fixture.environment.observer = &checker;
  auto gate = fixture.make_gate();
  auto cell = make_ref<Cell>(*gate);
  auto never = make_completion<int>();
  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> { (void)co_await never->wait(); }));
  fixture.scheduler.run_all();
  CHECK(checker.open[gate.get()] == 1);
  gate->abandon();
  CHECK(checker.open[gate.get()] == 0);
}

struct FrameWatch {
  explicit FrameWatch(GateFixture& fixture) : fixture(fixture) {}
  ~FrameWatch() { fixture.note("frame gone"); }
  GateFixture& fixture;
};

TEST_CASE("an abandoned gate drops its turns without running them further") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto waiting = make_ref<Cell>(*gate);
  auto yielding = make_ref<Cell>(*gate);
  auto never = make_completion<int>();
  auto number = make_completion<int>();
  const auto awaiting = [&](Cell& cell, bool yields) {
    auto job = fixture.awaiting([&fixture, &never, &number, yields]() -> Task<void> {
      FrameWatch watch(fixture);
      if (yields) {
        co_await number->yield();
      } else {
        co_await never->wait();
      }
      fixture.note("never");
    });
    job->on_finished = [&](Turn&, std::exception_ptr) { fixture.note("never"); };
    job->on_refused = [&](const Error&) { fixture.note("never"); };
    fixture.push(cell, std::move(job));
  };
  awaiting(*yielding, true);
  awaiting(*waiting, false);
  fixture.scheduler.run_all();
  fixture.push(*yielding, fixture.noting("never"));
  auto ready = make_ref<Cell>(*gate);
  fixture.push(*ready, fixture.noting("never"));

  SECTION("while it is idle") {
    gate->abandon();
    CHECK(number->complete(1));
  }
  SECTION("while it stands in the run queue") {
    never->complete(1);
    CHECK(fixture.scheduler.queued() == 1);
    gate->abandon();
    CHECK(fixture.trace.empty());
    fixture.scheduler.run_all();
    CHECK(number->complete(1));
  }
  gate->abandon();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"frame gone", "frame gone"});
  CHECK(gate->state().ready_mailboxes == 0);
  CHECK(gate->state().yielded_turns == 0);
  for (Cell* cell : {waiting.get(), yielding.get(), ready.get()}) {
    const auto late = cell->mailbox.push(Lane::Application, fixture.noting("never"));
    REQUIRE_FALSE(late);
    CHECK(late.error().kind() == ErrorKind::Unavailable);
  }
  auto fresh = make_ref<Cell>(*gate);
  const auto refused = fresh->mailbox.push(Lane::Application, fixture.noting("never"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::Unavailable);
  CHECK(fixture.scheduler.queued() == 0);
}

TEST_CASE("a gate that is abandoned within a turn lets that turn's job end") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto cell = make_ref<Cell>(*gate);
  auto never = make_completion<int>();
  fixture.push(*cell, fixture.doing([&] {
    gate->abandon();
    fixture.note("ends");
  }));
  fixture.push(*cell, fixture.noting("never"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"ends"});
  CHECK(cell->mailbox.is_closed());
}

TEST_CASE("an abandoned gate says when no turn is left") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto cell = make_ref<Cell>(*gate);
  auto never = make_completion<int>();
  const auto cleared = [&] { fixture.note("cleared"); };
  SECTION("at once when it is idle") {
    gate->abandon(cleared);
    CHECK(fixture.trace == Trace{"cleared"});
  }
  SECTION("when a suspended turn is gone") {
    fixture.push(*cell, fixture.awaiting([&]() -> Task<void> {
      FrameWatch watch(fixture);
      co_await never->wait();
    }));
    fixture.scheduler.run_all();
    gate->abandon(cleared);
    CHECK(fixture.trace == Trace{"frame gone", "cleared"});
  }
  SECTION("when the turn that is executing has ended") {
    fixture.push(*cell, fixture.doing([&] {
      gate->abandon(cleared);
      fixture.note("ends");
    }));
    fixture.scheduler.run_all();
    CHECK(fixture.trace == Trace{"ends", "cleared"});
  }
  SECTION("once, to the first who asks") {
    gate->abandon(cleared);
    gate->abandon(cleared);
    CHECK(fixture.trace == Trace{"cleared"});
  }
}

}  // namespace
}  // namespace spotmesh::runtime::testing

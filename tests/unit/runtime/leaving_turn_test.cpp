// Turns that yield and leave their mailbox, as those of a Spot do.
#include <catch2/catch.hpp>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

using Trace = std::vector<std::string>;
using Number = Ref<Completion<int>>;

struct LeavingFixture : GateFixture {
  // A handler that says `name`, yields for `number`, and says what came.
  void push_yielding(const std::string& name, const Number& number) {
    push(*spot, awaiting([this, name, number]() -> Task<void> {
      note(name);
      const int value = co_await number->yield();
      note(name + " gets " + std::to_string(value));
    }));
  }
  void run() { scheduler.run_all(); }

  Ref<Gate> gate = make_gate();
  Ref<Cell> spot = make_ref<Cell>(*gate, Mailbox::Bounds{}, OnYield::LeaveMailbox);
};

struct CountingWaiter final : ClaimWaiter {
  void on_claimed() override { ++granted; }
  int granted = 0;
};

TEST_CASE("what waits in a Spot's mailbox runs while its handler has yielded", "[YIELD-01]") {
  LeavingFixture fixture;
  Number first = make_completion<int>();
  Number second = make_completion<int>();
  fixture.push_yielding("a", first);
  fixture.push_yielding("b", second);
  fixture.push(*fixture.spot, fixture.noting("c"));
  fixture.push(*fixture.spot, fixture.noting("lifecycle"), Lane::Control);
  fixture.run();
  CHECK(fixture.trace == Trace{"lifecycle", "a", "b", "c"});
  CHECK(fixture.gate->state().yielded_turns == 2);
  CHECK(fixture.spot->mailbox.backlog().is_running);

  second->complete(2);
  fixture.push(*fixture.spot, fixture.noting("d"));
  first->complete(1);
  fixture.run();
  CHECK(fixture.trace == Trace{"lifecycle", "a", "b", "c", "b gets 2", "a gets 1", "d"});
  CHECK_FALSE(fixture.spot->mailbox.backlog().is_running);
}

TEST_CASE("turns of a mailbox that is abandoned do not go on, and those of others do",
          "[STORE-08]") {
  LeavingFixture fixture;
  const Ref<Cell> actor = make_ref<Cell>(*fixture.gate);
  Number first = make_completion<int>();
  Number second = make_completion<int>();
  Number third = make_completion<int>();
  const auto kept = std::make_shared<int>(0);
  fixture.push_yielding("spot", first);
  fixture.push(*actor, fixture.awaiting([&fixture, &second, kept]() -> Task<void> {
    fixture.note("actor");
    const int value = co_await second->yield();
    fixture.note("actor gets " + std::to_string(value));
  }));
  fixture.run();
  fixture.push(*fixture.spot, fixture.awaiting([&]() -> Task<void> {
    fixture.note("spot awaits");
    fixture.note("spot gets " + std::to_string(co_await third->wait()));
  }));
  fixture.run();
  REQUIRE(fixture.trace == Trace{"spot", "actor", "spot awaits"});
  actor->mailbox.abandon(Error::unavailable("stepped down"));
  third->complete(3);
  second->complete(2);
  first->complete(1);
  fixture.run();
  CHECK(fixture.trace == Trace{"spot", "actor", "spot awaits", "spot gets 3", "spot gets 1"});
  CHECK(kept.use_count() == 1);
  CHECK(fixture.gate->state().yielded_turns == 0);
  CHECK_FALSE(actor->mailbox.backlog().is_running);
}

TEST_CASE("a turn that has left its mailbox yields again, and awaits under the gate") {
  LeavingFixture fixture;
  Number first = make_completion<int>();
  Number second = make_completion<int>();
  Number third = make_completion<int>();
  fixture.push(*fixture.spot, fixture.awaiting([&]() -> Task<void> {
    co_await first->yield();
    fixture.note("once");
    co_await second->yield();
    fixture.note("twice");
    co_await third->wait();
    fixture.note("end");
  }));
  fixture.run();
  first->complete(1);
  fixture.run();
  fixture.push(*fixture.spot, fixture.noting("between"));
  fixture.run();
  second->complete(1);
  fixture.run();
  fixture.push(*fixture.spot, fixture.noting("behind"));
  fixture.run();
  CHECK(fixture.trace == Trace{"once", "between", "twice"});
  third->complete(1);
  fixture.run();
  CHECK(fixture.trace == Trace{"once", "between", "twice", "end", "behind"});
}

TEST_CASE("a claim waits for turns that have left, and lets lifecycle work through meanwhile") {
  LeavingFixture fixture;
  Number number = make_completion<int>();
  CountingWaiter waiter;
  fixture.push_yielding("a", number);
  fixture.run();
  fixture.spot->mailbox.claim(waiter);
  fixture.push(*fixture.spot, fixture.noting("message"));
  fixture.push(*fixture.spot, fixture.noting("lifecycle"), Lane::Control);
  fixture.run();
  CHECK(fixture.trace == Trace{"a", "lifecycle"});
  CHECK(waiter.granted == 0);

  SECTION("until it is granted") {
    number->complete(1);
    fixture.run();
    CHECK(waiter.granted == 1);
    fixture.push(*fixture.spot, fixture.noting("late lifecycle"), Lane::Control);
    fixture.run();
    CHECK(fixture.trace == Trace{"a", "lifecycle", "a gets 1"});
    fixture.spot->mailbox.release_claim();
    fixture.run();
    CHECK(fixture.trace == Trace{"a", "lifecycle", "a gets 1", "late lifecycle", "message"});
  }
  SECTION("until it is withdrawn") {
    CHECK(fixture.spot->mailbox.withdraw_claim(waiter));
    fixture.run();
    CHECK(fixture.trace == Trace{"a", "lifecycle", "message"});
    number->complete(1);
    fixture.run();
    CHECK(waiter.granted == 0);
  }
}

TEST_CASE("a closed mailbox refuses what waits while a turn that has left goes on") {
  LeavingFixture fixture;
  Number number = make_completion<int>();
  fixture.push_yielding("a", number);
  fixture.run();
  fixture.spot->mailbox.close(Error::unavailable("over"));
  CHECK_FALSE(fixture.spot->mailbox.push(Lane::Application, fixture.noting("late")).has_value());
  number->complete(1);
  fixture.run();
  CHECK(fixture.trace == Trace{"a", "a gets 1"});
}

TEST_CASE("turns that have left keep their owner, and end with an abandoned gate") {
  LeavingFixture fixture;
  Number number = make_completion<int>();
  fixture.push_yielding("a", number);
  fixture.push_yielding("b", make_completion<int>());
  fixture.run();
  fixture.spot = Ref<Cell>();
  SECTION("one of them resumed") {
    number->complete(1);
    fixture.gate->abandon();
  }
  SECTION("both waiting") { fixture.gate->abandon(); }
  fixture.run();
  CHECK(fixture.trace == Trace{"a", "b"});
  CHECK(fixture.gate->state().yielded_turns == 0);
}

}  // namespace
}  // namespace spotmesh::runtime::testing

#include <catch2/catch.hpp>
#include <stdexcept>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

using Trace = std::vector<std::string>;
using Number = Ref<Completion<int>>;

TEST_CASE("jobs of one mailbox run in the order of acceptance", "[TURN-01]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  for (const char* name : {"a", "b", "c"}) fixture.push(*cell, fixture.noting(name));
  CHECK(fixture.trace.empty());
  CHECK(fixture.scheduler.submissions == 1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a", "b", "c"});
  CHECK(fixture.scheduler.runs == 1);
}

TEST_CASE("a turn that awaits keeps its gate", "[TURN-04]") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto first = make_ref<Cell>(*gate);
  auto second = make_ref<Cell>(*gate);
  Number number = make_completion<int>();
  fixture.push(*first, fixture.awaiting([&]() -> Task<void> {
    fixture.note("asks");
    const int value = co_await number->wait();
    fixture.note("gets " + std::to_string(value));
  }));
  fixture.push(*second, fixture.noting("other"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"asks"});
  CHECK(gate->state().has_turn);
  CHECK(gate->state().ready_mailboxes == 1);

  fixture.push(*second, fixture.noting("later"));
  CHECK(fixture.scheduler.queued() == 0);

  CHECK(number->complete(7));
  CHECK(fixture.trace == Trace{"asks"});
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"asks", "gets 7", "other", "later"});
  CHECK_FALSE(gate->state().has_turn);
}

TEST_CASE("a turn that yields frees its gate and keeps its mailbox", "[YIELD-01][YIELD-02]") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto first = make_ref<Cell>(*gate);
  auto second = make_ref<Cell>(*gate);
  Number number = make_completion<int>();
  fixture.push(*first, fixture.awaiting([&]() -> Task<void> {
    fixture.note("asks");
    co_await number->yield();
    fixture.note("resumes");
  }));
  fixture.push(*first, fixture.noting("its next"));
  fixture.push(*second, fixture.noting("other"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"asks", "other"});
  CHECK(gate->state().yielded_turns == 1);
  CHECK(first->mailbox.backlog().is_running);

  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"asks", "other", "resumes", "its next"});
  CHECK(gate->state().yielded_turns == 0);
}

TEST_CASE("a completion that comes before the coroutine has suspended loses nothing", "[TURN-05]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  Number before = make_completion<int>();
  Number within = make_completion<int>();
  before->complete(1);

  // Completes another value while the turn is on its way into the suspension.
  struct CompletingAwaiter : TurnSuspension {
    Completion<int>& completion;
    Completion<int>::Awaiter inner;
    explicit CompletingAwaiter(Completion<int>& completion)
        : completion(completion), inner(completion.wait()) {}
    bool await_ready() { return inner.await_ready(); }
    bool await_suspend(std::coroutine_handle<> point) {
      const bool suspends = inner.await_suspend(point);
      completion.complete(2);
      return suspends;
    }
    int await_resume() { return inner.await_resume(); }
  };

  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> {
    fixture.note(std::to_string(co_await before->wait()));
    fixture.note(std::to_string(co_await CompletingAwaiter(*within)));
  }));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"1", "2"});
  CHECK(fixture.scheduler.submissions == 1);
}

}  // namespace
}  // namespace spotmesh::runtime::testing

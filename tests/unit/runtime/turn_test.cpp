#include <catch2/catch.hpp>
#include <stdexcept>

#include "fixture.hpp"
#include "runtime/task_driver.hpp"

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

TEST_CASE("a yielded turn that is complete already goes on without giving the gate back") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto first = make_ref<Cell>(*gate);
  auto second = make_ref<Cell>(*gate);
  Number number = make_completion<int>();
  number->complete(1);
  fixture.push(*first, fixture.awaiting([&]() -> Task<void> {
    fixture.note("asks");
    co_await number->yield();
    fixture.note("goes on");
  }));
  fixture.push(*second, fixture.noting("other"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"asks", "goes on", "other"});
}

TEST_CASE("the current turn is set inside, through awaits, and nowhere else", "[DEFER-10]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  Number number = make_completion<int>();
  auto inner = [&]() -> Task<int> {
    const Turn* before = Turn::current();
    const int value = co_await number->wait();
    CHECK(Turn::current() == before);
    co_return value;
  };
  auto job = fixture.awaiting([&]() -> Task<void> {
    REQUIRE(Turn::current() != nullptr);
    CHECK(&Turn::current()->mailbox() == &cell->mailbox);
    CHECK(&Turn::current()->gate() == &cell->mailbox.gate());
    co_await inner();
    CHECK(Turn::current() != nullptr);
    fixture.note("ends");
  });
  job->on_finished = [&](Turn& turn, std::exception_ptr) { CHECK(Turn::current() == &turn); };
  CHECK(Turn::current() == nullptr);
  fixture.push(*cell, std::move(job));
  fixture.scheduler.run_all();
  CHECK(Turn::current() == nullptr);
  number->complete(1);
  CHECK(Turn::current() == nullptr);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"ends"});
}

TEST_CASE("awaiting outside a turn is an error of the program") {
  Number number = make_completion<int>();
  auto stray = [&]() -> Task<int> { co_return co_await number->wait(); };
  auto task = stray();
  TaskDriver::start(task);
  REQUIRE(TaskDriver::is_done(task));
  CHECK_THROWS_AS(TaskDriver::take(task), std::logic_error);
  CHECK(number->complete(1));
}

TEST_CASE("what a job throws reaches finished(), and the next job runs", "[ERR-05]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  Number number = make_completion<int>();
  const auto expect = [&](std::unique_ptr<TestJob> job, std::string what) {
    job->on_finished = [&fixture, what](Turn&, std::exception_ptr failure) {
      REQUIRE(failure);
      CHECK_THROWS_WITH(std::rethrow_exception(failure), what);
      fixture.note(what);
    };
    fixture.push(*cell, std::move(job));
  };
  expect(fixture.doing([] { throw std::runtime_error("at once"); }), "at once");
  expect(fixture.awaiting([]() -> Task<void> {
    throw std::runtime_error("in the coroutine");
    co_return;
  }),
         "in the coroutine");
  expect(fixture.awaiting([&]() -> Task<void> {
    co_await number->yield();
    throw std::runtime_error("after a yield");
  }),
         "after a yield");
  auto calm = fixture.noting("calm");
  calm->on_finished = [](Turn&, std::exception_ptr failure) { CHECK_FALSE(failure); };
  fixture.push(*cell, std::move(calm));
  fixture.scheduler.run_all();
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"at once", "in the coroutine", "after a yield", "calm"});
}

class Outbox final : public Flushable {
 public:
  explicit Outbox(GateFixture& fixture) : fixture(fixture) {}
  void say(std::string what) {
    said += what;
    Turn::current()->flush_at_end(*this);
  }
  void flush() override {
    CHECK(Turn::current() == nullptr);
    fixture.note("out:" + std::exchange(said, {}));
  }
  GateFixture& fixture;
  std::string said;
};

TEST_CASE("what a turn says leaves once, when it suspends and when it ends") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto cell = make_ref<Cell>(*gate);
  auto outbox = make_ref<Outbox>(fixture);
  Number number = make_completion<int>();
  auto job = fixture.awaiting([&]() -> Task<void> {
    outbox->say("1");
    outbox->say("2");
    co_await number->wait();
    fixture.note("goes on");
    outbox->say("3");
  });
  job->on_finished = [&](Turn&, std::exception_ptr) {
    outbox->say("4");
    fixture.note("finished");
  };
  fixture.push(*cell, std::move(job));
  fixture.push(*cell, fixture.doing([&] { outbox->say("5"); }));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"out:12"});
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"out:12", "goes on", "finished", "out:34", "out:5"});
}

TEST_CASE("the first completion wins, and a value nobody waits for is dropped") {
  auto number = make_completion<std::unique_ptr<int>>();
  CHECK_FALSE(number->is_complete());
  CHECK(number->complete(std::make_unique<int>(1)));
  CHECK_FALSE(number->complete(std::make_unique<int>(2)));
  CHECK(number->is_complete());
}

TEST_CASE("a mailbox keeps its owner alive exactly while it has work") {
  struct Watched final : RefCounted {
    Watched(Gate& gate, bool& is_gone) : mailbox(*this, gate), is_gone(is_gone) {}
    ~Watched() override { is_gone = true; }
    Mailbox mailbox;
    bool& is_gone;
  };
  GateFixture fixture;
  auto gate = fixture.make_gate();
  bool is_gone = false;
  Number number = make_completion<int>();
  auto cell = make_ref<Watched>(*gate, is_gone);
  REQUIRE(cell->mailbox.push(Lane::Application, fixture.awaiting([&]() -> Task<void> {
    co_await number->yield();
    fixture.note("ends");
  })));
  cell = {};
  fixture.scheduler.run_all();
  CHECK_FALSE(is_gone);
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"ends"});
  CHECK(is_gone);
}

}  // namespace
}  // namespace spotmesh::runtime::testing

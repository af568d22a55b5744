#include <catch2/catch.hpp>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

using Trace = std::vector<std::string>;

TEST_CASE("control runs before application work, and each lane keeps its order", "[TURN-06]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  for (const char* name : {"a1", "a2"}) fixture.push(*cell, fixture.noting(name));
  for (const char* name : {"c1", "c2"}) fixture.push(*cell, fixture.noting(name), Lane::Control);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"c1", "c2", "a1", "a2"});
}

TEST_CASE("at most 16 control jobs run in a row while application work waits", "[TURN-07]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  for (int i = 0; i < 40; ++i) fixture.push(*cell, fixture.noting("c"), Lane::Control);
  for (int i = 0; i < 3; ++i) fixture.push(*cell, fixture.noting("a"));
  fixture.scheduler.run_all();
  Trace expected(43, "c");
  expected[16] = expected[33] = expected[42] = "a";
  CHECK(fixture.trace == expected);
}

TEST_CASE("control jobs count only while application work can run", "[TURN-07]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  cell->mailbox.hold();
  fixture.push(*cell, fixture.noting("a"));
  for (int i = 0; i < 40; ++i) fixture.push(*cell, fixture.noting("c"), Lane::Control);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace(40, "c"));
  cell->mailbox.release_hold();
  for (int i = 0; i < 17; ++i) fixture.push(*cell, fixture.noting("c"), Lane::Control);
  fixture.trace.clear();
  fixture.scheduler.run_all();
  Trace expected(18, "c");
  expected[16] = "a";
  CHECK(fixture.trace == expected);
}

TEST_CASE("a full lane refuses with CapacityExceeded and takes more once it has room",
          "[TURN-09]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate(),
                             Mailbox::Bounds{.application_jobs = 2, .control_jobs = 1});
  fixture.push(*cell, fixture.noting("a1"));
  fixture.push(*cell, fixture.noting("a2"));
  fixture.push(*cell, fixture.noting("c1"), Lane::Control);
  auto refused = fixture.noting("never");
  bool is_refused = false;
  refused->on_refused = [&](const Error&) { is_refused = true; };
  const auto application = cell->mailbox.push(Lane::Application, std::move(refused));
  REQUIRE_FALSE(application);
  CHECK(application.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(application.error().message() == "the mailbox is full: 2 application jobs are waiting");
  const auto control = cell->mailbox.push(Lane::Control, fixture.noting("never"));
  REQUIRE_FALSE(control);
  CHECK(control.error().message() == "the mailbox is full: 1 control jobs are waiting");
  CHECK_FALSE(is_refused);
  fixture.scheduler.run_all();
  fixture.push(*cell, fixture.noting("a3"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"c1", "a1", "a2", "a3"});
}

TEST_CASE("a hold keeps the application lane back and lets control pass") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  cell->mailbox.hold();
  cell->mailbox.hold();
  fixture.push(*cell, fixture.noting("a"));
  CHECK(fixture.scheduler.queued() == 0);
  fixture.push(*cell, fixture.noting("c"), Lane::Control);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"c"});
  CHECK(cell->mailbox.backlog().application == 1);
  CHECK(cell->mailbox.backlog().is_held);
  cell->mailbox.release_hold();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"c"});
  cell->mailbox.release_hold();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"c", "a"});
}

TEST_CASE("a hold set by a turn stands behind that turn", "[DEFER-13]") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  fixture.push(*cell, fixture.doing([&] {
    cell->mailbox.hold();
    fixture.note("barrier");
  }));
  fixture.push(*cell, fixture.noting("behind"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"barrier"});
  fixture.push(*cell, fixture.noting("completion"), Lane::Control);
  cell->mailbox.release_hold();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"barrier", "completion", "behind"});
}

struct NotingClaim final : ClaimWaiter {
  NotingClaim(GateFixture& fixture, std::string name) : fixture(fixture), name(std::move(name)) {}
  void on_claimed() override { fixture.note(name); }
  GateFixture& fixture;
  std::string name;
};

TEST_CASE("a claim waits for the turn in progress, a yielded one included, and holds both lanes") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  auto number = make_completion<int>();
  NotingClaim claim(fixture, "claimed");
  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> {
    co_await number->yield();
    fixture.note("turn ends");
  }));
  fixture.scheduler.run_all();
  cell->mailbox.claim(claim);
  fixture.push(*cell, fixture.noting("a"));
  fixture.push(*cell, fixture.noting("c"), Lane::Control);
  fixture.scheduler.run_all();
  CHECK(fixture.trace.empty());
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"turn ends", "claimed"});
  CHECK(cell->mailbox.backlog().is_claimed);
  cell->mailbox.release_claim();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"turn ends", "claimed", "c", "a"});
}

TEST_CASE("claims are granted one at a time, in order, and can be withdrawn while they wait") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  NotingClaim first(fixture, "first");
  NotingClaim second(fixture, "second");
  NotingClaim third(fixture, "third");
  cell->mailbox.claim(first);
  cell->mailbox.claim(second);
  cell->mailbox.claim(third);
  fixture.push(*cell, fixture.noting("a"));
  CHECK_FALSE(cell->mailbox.withdraw_claim(first));
  CHECK(cell->mailbox.withdraw_claim(second));
  CHECK(fixture.trace == Trace{"first"});
  cell->mailbox.release_claim();
  CHECK(fixture.trace == Trace{"first", "third"});
  CHECK_FALSE(cell->mailbox.withdraw_claim(third));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"first", "third"});
  cell->mailbox.release_claim();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"first", "third", "a"});
}

TEST_CASE("a withdrawn claim lets the jobs behind it run") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  auto number = make_completion<int>();
  NotingClaim claim(fixture, "never");
  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> { (void)co_await number->yield(); }));
  fixture.scheduler.run_all();
  cell->mailbox.claim(claim);
  fixture.push(*cell, fixture.noting("a"));
  CHECK(cell->mailbox.withdraw_claim(claim));
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a"});
}

TEST_CASE("a closed mailbox can be claimed") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  cell->mailbox.close(Error::unavailable("gone"));
  NotingClaim claim(fixture, "claimed");
  cell->mailbox.claim(claim);
  CHECK(fixture.trace == Trace{"claimed"});
  cell->mailbox.release_claim();
}

TEST_CASE("a claimed mailbox moves to another gate with what waits in it") {
  GateFixture fixture;
  auto left = fixture.make_gate();
  auto entered = fixture.make_gate();
  auto cell = make_ref<Cell>(*left);
  auto blocker = make_ref<Cell>(*left);
  auto number = make_completion<int>();
  NotingClaim claim(fixture, "claimed");
  fixture.push(*blocker, fixture.awaiting([&]() -> Task<void> {
    co_await number->wait();
    fixture.note("blocker");
  }));
  fixture.scheduler.run_all();

  SECTION("pushed after the claim") {
    cell->mailbox.claim(claim);
    fixture.push(*cell, fixture.noting("a"));
  }
  SECTION("listed at the former gate before the claim") {
    fixture.push(*cell, fixture.noting("a"));
    cell->mailbox.claim(claim);
  }
  cell->mailbox.move_to(*entered);
  CHECK(cell->mailbox.runs_on(*entered));
  CHECK_FALSE(cell->mailbox.runs_on(*left));
  fixture.scheduler.run_all();
  cell->mailbox.release_claim();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"claimed", "a"});
  CHECK(left->state().ready_mailboxes == 0);
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"claimed", "a", "blocker"});
}

TEST_CASE("closing refuses what waits, with the reason, and lets the turn in progress end") {
  GateFixture fixture;
  auto cell = make_ref<Cell>(*fixture.make_gate());
  auto number = make_completion<int>();
  fixture.push(*cell, fixture.awaiting([&]() -> Task<void> {
    co_await number->wait();
    fixture.note("ends");
  }));
  fixture.scheduler.run_all();
  for (const Lane lane : {Lane::Application, Lane::Control}) {
    auto job = fixture.noting("never");
    job->on_refused = [&, lane](const Error& error) {
      CHECK(error == Error::shutting_down("the node stops"));
      fixture.note(lane == Lane::Control ? "refused c" : "refused a");
    };
    fixture.push(*cell, std::move(job), lane);
  }
  cell->mailbox.close(Error::shutting_down("the node stops"));
  CHECK(fixture.trace == Trace{"refused c", "refused a"});
  cell->mailbox.close(Error::unavailable("later"));
  const auto late = cell->mailbox.push(Lane::Control, fixture.noting("never"));
  REQUIRE_FALSE(late);
  CHECK(late.error() == Error::shutting_down("the node stops"));
  CHECK(cell->mailbox.is_closed());
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"refused c", "refused a", "ends"});
}

TEST_CASE("closing takes a waiting mailbox out of its gate") {
  GateFixture fixture;
  auto gate = fixture.make_gate();
  auto cell = make_ref<Cell>(*gate);
  fixture.push(*cell, fixture.noting("never"));
  CHECK(gate->state().ready_mailboxes == 1);
  cell->mailbox.close(Error::unavailable("gone"));
  CHECK(gate->state().ready_mailboxes == 0);
  fixture.scheduler.run_all();
  CHECK(fixture.trace.empty());
}

}  // namespace
}  // namespace spotmesh::runtime::testing

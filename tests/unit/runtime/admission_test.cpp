#include <catch2/catch.hpp>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

using Trace = std::vector<std::string>;
using namespace std::chrono_literals;

class Outbox final : public Flushable {
 public:
  Outbox(GateFixture& fixture, std::string name) : fixture(fixture), name(std::move(name)) {}
  void flush() override { fixture.note("out " + name); }
  GateFixture& fixture;
  std::string name;
};

struct AdmissionFixture : GateFixture {
  AdmissionFixture() {
    environment.admission = &admission;
    gate = make_gate();
    cell = make_ref<Cell>(*gate);
  }
  // A job that says `name` and takes `time`.
  std::unique_ptr<TestJob> saying(std::string name, Duration time = {}) {
    return doing([this, name, time] {
      note(name);
      Turn::current()->flush_at_end(*make_ref<Outbox>(*this, name));
      clock.advance(time);
    });
  }
  DeadlineAdmission admission;
  Ref<Gate> gate;
  Ref<Cell> cell;
};

TEST_CASE("no turn starts past the admission deadline until a renewal", "[STORE-05]") {
  AdmissionFixture fixture;
  fixture.push(*fixture.cell, fixture.saying("before the lease"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace.empty());
  fixture.push(*fixture.cell, fixture.saying("second"));
  CHECK(fixture.scheduler.queued() == 0);

  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"before the lease", "out before the lease", "second", "out second"});

  fixture.trace.clear();
  fixture.clock.advance(10s);
  fixture.push(*fixture.cell, fixture.saying("late"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace.empty());
  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"late", "out late"});
}

TEST_CASE("an awaiting turn goes on only while admission is open") {
  AdmissionFixture fixture;
  auto number = make_completion<int>();
  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.push(*fixture.cell, fixture.awaiting([&]() -> Task<void> {
    co_await number->wait();
    fixture.note("goes on");
  }));
  fixture.scheduler.run_all();
  fixture.clock.advance(10s);
  number->complete(1);
  fixture.scheduler.run_all();
  CHECK(fixture.trace.empty());
  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"goes on"});
}

TEST_CASE("what a turn says past the deadline waits for the renewal and leaves first, in order",
          "[RACE-09]") {
  AdmissionFixture fixture;
  auto other = make_ref<Cell>(*fixture.make_gate());
  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.push(*fixture.cell, fixture.saying("a", 10s));
  fixture.push(*fixture.cell, fixture.saying("b"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a"});
  fixture.push(*other, fixture.saying("c"));
  fixture.admission.extend(fixture.clock.now() + 10s);
  CHECK(fixture.trace == Trace{"a", "out a"});
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a", "out a", "c", "out c", "b", "out b"});
}

TEST_CASE("a fence drops what was held and abandons who waits", "[RACE-09]") {
  AdmissionFixture fixture;
  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.push(*fixture.cell, fixture.saying("a", 10s));
  fixture.push(*fixture.cell, fixture.saying("never"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a"});
  fixture.admission.fence();
  fixture.scheduler.run_all();
  CHECK(fixture.cell->mailbox.is_closed());
  auto other = make_ref<Cell>(*fixture.make_gate());
  fixture.push(*other, fixture.saying("never"));
  fixture.scheduler.run_all();
  CHECK(other->mailbox.is_closed());
  fixture.admission.extend(fixture.clock.now() + 10s);
  fixture.scheduler.run_all();
  CHECK(fixture.trace == Trace{"a"});
}

TEST_CASE("a deadline never moves back") {
  DeadlineAdmission admission;
  CHECK_FALSE(admission.is_open({}));
  admission.extend({10s});
  admission.extend({5s});
  CHECK(admission.deadline() == Instant{10s});
  CHECK(admission.is_open({10s - 1ns}));
  CHECK_FALSE(admission.is_open({10s}));
}

}  // namespace
}  // namespace spotmesh::runtime::testing

#include "runtime/keyed_timers.hpp"

#include <catch2/catch.hpp>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

using namespace std::chrono_literals;

struct Delivered {
  std::string key;
  TimerTick tick;
  Duration at;
  bool operator==(const Delivered&) const = default;
};

// An Actor with timers; what a tick does beside being noted is up to the test.
class TimedCell final : public RefCounted, public TimerOwner {
 public:
  TimedCell(GateFixture& fixture, Timers& timers, Gate& gate, Mailbox::Bounds bounds = {},
            std::size_t timer_bound = limits::timers_per_owner)
      : mailbox(*this, gate, bounds),
        timers(fixture.clock, timers, mailbox, *this, timer_bound),
        fixture_(fixture) {}

  Task<void> run_tick(Turn&, std::string_view key, const TimerTick& tick) override {
    delivered.push_back({std::string(key), tick, fixture_.clock.now().since_origin});
    if (on_tick) return on_tick(tick);
    return {};
  }
  void tick_finished(Turn&, std::string_view, std::exception_ptr failure) override {
    if (failure) ++failures;
  }

  std::vector<Delivered> delivered;
  std::function<Task<void>(const TimerTick&)> on_tick;
  int failures = 0;
  Mailbox mailbox;
  KeyedTimers timers;

 private:
  GateFixture& fixture_;
};

struct TimerFixture : GateFixture {
  TimerFixture() : gate(make_gate()), cell(make_ref<TimedCell>(*this, timers, *gate)) {}
  void run_until(Duration end) {
    scheduler.run_all();
    while (timers.jump({end})) scheduler.run_all();
    if (clock.now() < Instant{end}) clock.advance(Instant{end} - clock.now());
    scheduler.run_all();
  }
  // A tick that takes `time` of the virtual clock when its delivery index is `which`.
  void overrun(std::uint64_t which, Duration time) {
    cell->on_tick = [this, which, time](const TimerTick& tick) -> Task<void> {
      if (tick.delivery_index == which) clock.advance(time);
      return {};
    };
  }
  ManualTimers timers{clock};
  Ref<Gate> gate;
  Ref<TimedCell> cell;
};

using Deliveries = std::vector<Delivered>;

TEST_CASE("a periodic timer ticks at the points of its schedule", "[TIMER-04]") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 10ms}));
  fixture.run_until(30ms);
  CHECK(fixture.cell->delivered ==
        Deliveries{{"t", {1, 1, 0}, 5ms}, {"t", {2, 2, 0}, 15ms}, {"t", {3, 3, 0}, 25ms}});
}

TEST_CASE("a timer without an interval ticks once and is gone") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("once", {.first_after = 5ms}));
  CHECK(fixture.cell->timers.size() == 1);
  fixture.run_until(1h);
  CHECK(fixture.cell->delivered == Deliveries{{"once", {1, 1, 0}, 5ms}});
  CHECK(fixture.cell->timers.size() == 0);
  CHECK_FALSE(fixture.cell->timers.cancel("once"));
}

TEST_CASE("starting a key again kills the old generation, a waiting tick included", "[TIMER-01]") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 5ms}));
  SECTION("before it has expired") { fixture.clock.advance(4ms); }
  SECTION("when its tick stands in the mailbox") {
    fixture.clock.advance(5ms);
    fixture.timers.fire();
    CHECK(fixture.cell->mailbox.backlog().application == 1);
  }
  const Duration restarted = fixture.clock.now().since_origin;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 20ms}));
  CHECK(fixture.cell->timers.size() == 1);
  fixture.run_until(1h);
  CHECK(fixture.cell->delivered == Deliveries{{"t", {1, 1, 0}, restarted + 20ms}});
}

TEST_CASE("a cancelled timer and one whose owner has ended never tick", "[TIMER-01]") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 5ms}));
  fixture.clock.advance(5ms);
  fixture.timers.fire();
  SECTION("cancel") {
    CHECK(fixture.cell->timers.cancel("t"));
    CHECK_FALSE(fixture.cell->timers.cancel("t"));
  }
  SECTION("close") {
    fixture.cell->timers.close();
    const auto late = fixture.cell->timers.start("u", {.first_after = 1ms});
    REQUIRE_FALSE(late);
    CHECK(late.error().kind() == ErrorKind::Unavailable);
  }
  fixture.run_until(1h);
  CHECK(fixture.cell->delivered.empty());
}

TEST_CASE("timers die with their owner", "[TIMER-01]") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 5ms}));
  fixture.cell = {};
  CHECK_FALSE(fixture.timers.jump({1h}));
}

TEST_CASE("a tick handler may restart and cancel its own key") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 5ms}));
  fixture.cell->on_tick = [&](const TimerTick&) -> Task<void> {
    if (fixture.cell->delivered.size() == 1) {
      CHECK(fixture.cell->timers.start("t", {.first_after = 20ms, .interval = 20ms}));
    } else {
      CHECK(fixture.cell->timers.cancel("t"));
    }
    return {};
  };
  fixture.run_until(1h);
  CHECK(fixture.cell->delivered == Deliveries{{"t", {1, 1, 0}, 5ms}, {"t", {1, 1, 0}, 25ms}});
}

TEST_CASE("a key never runs beside itself, also while its tick yields", "[TIMER-02]") {
  TimerFixture fixture;
  auto number = make_completion<int>();
  int running = 0;
  fixture.cell->on_tick = [&](const TimerTick& tick) -> Task<void> {
    CHECK(++running == 1);
    if (tick.delivery_index == 1) co_await number->yield();
    --running;
  };
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 5ms}));
  fixture.run_until(100ms);
  CHECK(fixture.cell->delivered.size() == 1);
  number->complete(1);
  fixture.run_until(111ms);
  CHECK(fixture.cell->delivered ==
        Deliveries{{"t", {1, 1, 0}, 5ms}, {"t", {2, 21, 19}, 105ms}, {"t", {3, 22, 0}, 110ms}});
  fixture.cell->timers.close();
}

TEST_CASE("skip_late_ticks drops the points that passed", "[TIMER-03][TIMER-04]") {
  TimerFixture fixture;
  fixture.overrun(2, 35ms);  // from 20 to 55: 30, 40 and 50 pass
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 10ms, .interval = 10ms}));
  fixture.run_until(70ms);
  CHECK(fixture.cell->delivered == Deliveries{{"t", {1, 1, 0}, 10ms},
                                              {"t", {2, 2, 0}, 20ms},
                                              {"t", {3, 6, 3}, 60ms},
                                              {"t", {4, 7, 0}, 70ms}});
}

TEST_CASE("catch_up_bounded delivers at most that many of the late points",
          "[TIMER-03][TIMER-04]") {
  TimerFixture fixture;
  fixture.overrun(2, 35ms);
  REQUIRE(fixture.cell->timers.start(
      "t", {.first_after = 10ms, .interval = 10ms, .overrun = OverrunPolicy::catch_up_bounded(2)}));
  fixture.run_until(60ms);
  CHECK(fixture.cell->delivered == Deliveries{{"t", {1, 1, 0}, 10ms},
                                              {"t", {2, 2, 0}, 20ms},
                                              {"t", {3, 4, 1}, 55ms},
                                              {"t", {4, 5, 0}, 55ms},
                                              {"t", {5, 6, 0}, 60ms}});
}

TEST_CASE("delay_next_tick shifts the schedule and drops nothing", "[TIMER-03][TIMER-04]") {
  TimerFixture fixture;
  fixture.overrun(2, 35ms);
  REQUIRE(fixture.cell->timers.start(
      "t", {.first_after = 10ms, .interval = 10ms, .overrun = OverrunPolicy::delay_next_tick()}));
  fixture.run_until(75ms);
  CHECK(fixture.cell->delivered == Deliveries{{"t", {1, 1, 0}, 10ms},
                                              {"t", {2, 2, 0}, 20ms},
                                              {"t", {3, 3, 0}, 65ms},
                                              {"t", {4, 4, 0}, 75ms}});
}

TEST_CASE("timers move with their owner: key, generation, indices, remaining time", "[TIMER-05]") {
  TimerFixture fixture;
  fixture.overrun(2, 25ms);
  REQUIRE(fixture.cell->timers.start("x", {.first_after = 1ms}));
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 10ms, .interval = 10ms}));
  fixture.run_until(47ms);
  CHECK(fixture.cell->delivered.back() == Delivered{"t", {2, 2, 0}, 20ms});

  const auto states = fixture.cell->timers.export_states();
  REQUIRE(states.size() == 1);
  CHECK(states[0].generation == 2);
  CHECK(states[0].remaining == 3ms);
  fixture.cell->timers.close();
  auto target = make_ref<TimedCell>(fixture, fixture.timers, *fixture.gate);
  fixture.clock.advance(100ms);
  REQUIRE(target->timers.import_states(states));
  CHECK(target->timers.export_states()[0].generation == 2);
  fixture.run_until(161ms);
  CHECK(target->delivered == Deliveries{{"t", {3, 5, 2}, 150ms}, {"t", {4, 6, 0}, 160ms}});
  REQUIRE(target->timers.start("t", {.first_after = 1ms}));
  CHECK(target->timers.export_states()[0].generation == 3);
}

TEST_CASE("a tick that waited in the source's mailbox is the target's next tick", "[TIMER-05]") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 10ms, .interval = 10ms}));
  fixture.cell->mailbox.hold();
  fixture.run_until(15ms);
  CHECK(fixture.cell->mailbox.backlog().application == 1);
  const auto states = fixture.cell->timers.export_states();
  REQUIRE(states.size() == 1);
  CHECK(states[0].remaining == -5ms);
  fixture.cell->timers.close();
  auto target = make_ref<TimedCell>(fixture, fixture.timers, *fixture.gate);
  REQUIRE(target->timers.import_states(states));
  fixture.cell->mailbox.release_hold();
  fixture.run_until(20ms);
  CHECK(fixture.cell->delivered.empty());
  CHECK(target->delivered == Deliveries{{"t", {1, 1, 0}, 15ms}, {"t", {2, 2, 0}, 20ms}});
}

TEST_CASE("wrong times and too many timers are refused") {
  TimerFixture fixture;
  auto small = make_ref<TimedCell>(fixture, fixture.timers, *fixture.gate, Mailbox::Bounds{}, 2);
  CHECK(small->timers.start("a", {.interval = 1us}).error().kind() == ErrorKind::InvalidOperation);
  CHECK(small->timers.start("a", {.first_after = -1ns}).error().kind() ==
        ErrorKind::InvalidOperation);
  CHECK(small->timers.start("a", {.first_after = 1s}));
  CHECK(small->timers.start("b", {.first_after = 1s}));
  CHECK(small->timers.start("c", {.first_after = 1s}).error().kind() ==
        ErrorKind::CapacityExceeded);
  CHECK(small->timers.start("b", {.first_after = 2s}));
}

TEST_CASE("a tick that finds the lane full comes a little later") {
  TimerFixture fixture;
  auto cell = make_ref<TimedCell>(fixture, fixture.timers, *fixture.gate,
                                  Mailbox::Bounds{.application_jobs = 1, .control_jobs = 1});
  cell->mailbox.hold();
  REQUIRE(cell->mailbox.push(Lane::Application, fixture.noting("job")));
  REQUIRE(cell->timers.start("once", {.first_after = 5ms}));
  fixture.run_until(22ms);
  cell->mailbox.release_hold();
  fixture.run_until(1h);
  CHECK(fixture.trace == std::vector<std::string>{"job"});
  CHECK(cell->delivered == Deliveries{{"once", {1, 1, 0}, 25ms}});
}

TEST_CASE("a tick that throws is told to its owner, and the next one comes") {
  TimerFixture fixture;
  fixture.cell->on_tick = [](const TimerTick& tick) -> Task<void> {
    if (tick.delivery_index == 1) throw std::runtime_error("first");
    return {};
  };
  REQUIRE(fixture.cell->timers.start("t", {.first_after = 5ms, .interval = 5ms}));
  fixture.run_until(10ms);
  CHECK(fixture.cell->failures == 1);
  CHECK(fixture.cell->delivered.size() == 2);
}

TEST_CASE("a timer neither stops nor drifts in a hundred days", "[TIMER-04]") {
  TimerFixture fixture;
  REQUIRE(fixture.cell->timers.start("minute", {.first_after = 1min, .interval = 1min}));
  REQUIRE(fixture.cell->timers.start("week", {.first_after = 24h * 7, .interval = 24h * 7}));
  fixture.run_until(24h * 100);
  std::uint64_t minutes = 0;
  std::uint64_t weeks = 0;
  for (const Delivered& delivered : fixture.cell->delivered) {
    std::uint64_t& count = delivered.key == "week" ? weeks : minutes;
    const Duration interval = delivered.key == "week" ? Duration(24h * 7) : Duration(1min);
    ++count;
    REQUIRE(delivered.tick == TimerTick{count, count, 0});
    REQUIRE(delivered.at == interval * static_cast<Duration::rep>(count));
  }
  CHECK(minutes == 100 * 24 * 60);
  CHECK(weeks == 14);
}

}  // namespace
}  // namespace spotmesh::runtime::testing

#include "testing/sim_world.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "runtime/completion.hpp"
#include "runtime/strand.hpp"
#include "runtime/worker_call.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;
using runtime::Lane;
using runtime::Ref;

struct Cell final : runtime::RefCounted {
  explicit Cell(runtime::Gate& gate) : mailbox(*this, gate) {}
  runtime::Mailbox mailbox;
};

class FunctionJob final : public runtime::Job {
 public:
  explicit FunctionJob(std::function<Task<void>()> body) : body_(std::move(body)) {}
  Task<void> run(runtime::Turn&) override { return body_(); }
  void finished(runtime::Turn&, std::exception_ptr) override {}
  void refuse(const Error&) override {}

 private:
  std::function<Task<void>()> body_;
};

class FunctionTimer final : public runtime::TimerEntry {
 public:
  explicit FunctionTimer(std::function<void(Instant)> body) : body_(std::move(body)) {}
  void on_timer(Instant now) override { body_(now); }

 private:
  std::function<void(Instant)> body_;
};

void push(Cell& cell, std::function<Task<void>()> body) {
  REQUIRE(cell.mailbox.push(Lane::Application, std::make_unique<FunctionJob>(std::move(body))));
}

// Two nodes whose cells send one another numbers, wait for worker calls and end after a while.
class Game {
 public:
  explicit Game(SimWorld& world) : world_(world) {
    for (const char* name : {"n1", "n2"}) {
      SimNode& node = world.add_node(name);
      for (int i = 0; i < 3; ++i) {
        auto gate = runtime::make_ref<runtime::Gate>(node.gate_environment());
        cells_.push_back({&node, runtime::make_ref<Cell>(*gate)});
      }
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) send(i, 40);
  }
  bool is_over() const { return ended_ == cells_.size(); }

 private:
  struct Player {
    SimNode* node;
    Ref<Cell> cell;
  };

  void send(std::size_t to, int left) {
    cells_[to].node->deliver(
        [this, to, left] { push(*cells_[to].cell, [this, to, left] { return play(to, left); }); });
  }
  Task<void> play(std::size_t at, int left) {
    SimNode& node = *cells_[at].node;
    if (left == 0) {
      ++ended_;
      node.events().emit({.kind = "ended", .subject = std::to_string(at), .fields = {}});
      co_return;
    }
    if (random_below(node.random(), 4) == 0) {
      auto call =
          runtime::run_on_worker(node.workers(), runtime::Workers::Pool::Cpu, [] { return 1; });
      co_await call->yield();
    }
    send(static_cast<std::size_t>(random_below(node.random(), cells_.size())), left - 1);
  }

  SimWorld& world_;
  std::vector<Player> cells_;
  std::size_t ended_ = 0;
};

std::uint64_t play(std::uint64_t seed) {
  SimWorld world({.seed = seed});
  Game game(world);
  REQUIRE(world.run_until([&] { return game.is_over(); }, 1h) == SimOutcome::Done);
  REQUIRE(world.violations().empty());
  return world.trace().hash();
}

TEST_CASE("one seed gives one trace hash, other seeds give others") {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    const std::uint64_t hash = play(seed);
    CHECK(play(seed) == hash);
    hashes.insert(hash);
  }
  CHECK(hashes.size() == 30);
}

TEST_CASE("the seed decides which of the waiting gates runs next") {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimWorld world({.seed = seed});
    SimNode& node = world.add_node("n");
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
      auto cell =
          runtime::make_ref<Cell>(*runtime::make_ref<runtime::Gate>(node.gate_environment()));
      push(*cell, [&order, i]() -> Task<void> {
        order.push_back(i);
        return {};
      });
    }
    world.run_until_idle();
    REQUIRE(order.size() == 3);
    orders.insert(order);
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("a new consumer of randomness shifts nobody else's numbers") {
  SimWorld one({.seed = 5});
  SimWorld two({.seed = 5});
  two.random("new consumer").next_u64();
  for (int i = 0; i < 10; ++i) {
    CHECK(one.random("store").next_u64() == two.random("store").next_u64());
  }
  CHECK(one.random("a").next_u64() != one.random("b").next_u64());
  CHECK(SimRandom(1, "a").next_u64() != SimRandom(2, "a").next_u64());
}

TEST_CASE("random durations lie within both ends and reach them") {
  SimRandom random(1, "durations");
  std::set<Duration> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(3ns, 6ns));
  CHECK(seen == std::set<Duration>{3ns, 4ns, 5ns, 6ns});
}

TEST_CASE("turns cost virtual time, and a gate gives way when its millisecond is over") {
  SimWorld world({.seed = 1, .min_turn_cost = 300us, .max_turn_cost = 300us});
  SimNode& node = world.add_node("n");
  auto cell = runtime::make_ref<Cell>(*runtime::make_ref<runtime::Gate>(node.gate_environment()));
  std::vector<Instant> at;
  for (int i = 0; i < 5; ++i) {
    push(*cell, [&]() -> Task<void> {
      at.push_back(runtime::Turn::current()->now());
      return {};
    });
  }
  world.run_until_idle();
  REQUIRE(at.size() == 5);
  CHECK(at[1] - at[0] == 300us);
  CHECK(at[3] - at[2] == 300us);
  CHECK(at[4] - at[3] == 600us);  // the run ended in between and was charged too
}

TEST_CASE("time jumps to what comes next, and what is due happens in order") {
  SimWorld world;
  SimNode& node = world.add_node("n", {.clock_offset = 1000s});
  std::vector<std::string> order;
  FunctionTimer timer([&](Instant now) {
    CHECK(now == Instant{1000s + 5s});
    order.push_back("timer");
  });
  node.timers().arm(timer, node.clock().now() + 5s);
  world.after(7s, [&] { order.push_back("later"); });
  world.after(3s, [&] {
    order.push_back("sooner");
    world.at(Instant{1s}, [&] { order.push_back("at once"); });
    order.push_back("still inside");
  });
  CHECK(world.run_until([&] { return order.size() == 5; }, 1h) == SimOutcome::Done);
  CHECK(order == std::vector<std::string>{"sooner", "still inside", "at once", "timer", "later"});
  CHECK(world.now() == Instant{7s});
}

TEST_CASE("a run says whether it is done, late, stuck or running away") {
  SimWorld world({.max_steps = 1000});
  CHECK(world.run_until([] { return true; }, 1s) == SimOutcome::Done);
  CHECK(world.run_until([] { return false; }, 1s) == SimOutcome::Stuck);
  world.after(10s, [] {});
  CHECK(world.run_until([] { return false; }, 1s) == SimOutcome::TimedOut);
  CHECK(world.now() == Instant{1s});
  CHECK(world.run_for(20s) == SimOutcome::Done);
  CHECK(world.now() == Instant{21s});
  std::function<void()> again = [&] { world.after(0s, again); };
  again();
  CHECK(world.run_until([] { return false; }, 1s) == SimOutcome::Runaway);
  CHECK(world.run_for(1s) == SimOutcome::Runaway);
  CHECK(world.run_until_idle() == SimOutcome::Runaway);
  CHECK(to_string(SimOutcome::Runaway) == "Runaway");
}

TEST_CASE("a node's clock has an offset and a drift, and its timers go by it") {
  SimWorld world;
  SimNode& fast = world.add_node("fast", {.clock_offset = 50s, .drift_ppm = 1000});
  SimNode& slow = world.add_node("slow", {.clock_offset = -9s, .drift_ppm = -1000});
  const Instant fast_start = fast.clock().now();
  const Instant slow_start = slow.clock().now();
  CHECK(fast_start == Instant{50s});
  std::vector<Instant> fired;
  FunctionTimer by_fast([&](Instant now) {
    CHECK(now >= fast_start + 100s);
    fired.push_back(world.now());
  });
  FunctionTimer by_slow([&](Instant now) {
    CHECK(now >= slow_start + 100s);
    fired.push_back(world.now());
  });
  fast.timers().arm(by_fast, fast_start + 100s);
  slow.timers().arm(by_slow, slow_start + 100s);
  world.run_for(200s);
  REQUIRE(fired.size() == 2);
  CHECK(fired[0] > Instant{99'900ms});
  CHECK(fired[0] < Instant{99'901ms});
  CHECK(fired[1] > Instant{100'100ms});
  CHECK(fired[1] < Instant{100'101ms});
  CHECK(fast.clock().now() - fast_start == 200'200ms);
}

TEST_CASE("a step of the clock makes timers due; a wall clock step decides nothing") {
  SimWorld world;
  SimNode& node = world.add_node("n");
  bool has_fired = false;
  FunctionTimer timer([&](Instant) { has_fired = true; });
  node.timers().arm(timer, node.clock().now() + 1h);
  const auto wall = node.clock().wall_now().unix_milliseconds;
  node.clock().step_wall(-3'600'000);
  CHECK(node.clock().wall_now().unix_milliseconds == wall - 3'600'000);
  world.run_for(1s);
  CHECK_FALSE(has_fired);
  node.clock().step(59min + 59s);
  world.run_for(1ns);
  CHECK(has_fired);
  node.clock().set_drift(500);
  const Instant before = node.clock().now();
  world.run_for(1000s);
  CHECK(node.clock().now() - before == 1000'500ms);
}

TEST_CASE("a paused node does nothing, and does it when it goes on") {
  SimWorld world;
  SimNode& node = world.add_node("n");
  auto cell = runtime::make_ref<Cell>(*runtime::make_ref<runtime::Gate>(node.gate_environment()));
  std::vector<std::string> order;
  FunctionTimer timer([&](Instant) { order.push_back("timer"); });
  node.timers().arm(timer, node.clock().now() + 1s);
  REQUIRE(node.workers().post(runtime::Workers::Pool::Io, [&] { order.push_back("worker"); }));
  push(*cell, [&]() -> Task<void> {
    order.push_back("turn");
    return {};
  });
  node.pause();
  node.deliver([&] { order.push_back("delivered"); });
  CHECK(world.run_until([&] { return !order.empty(); }, 10s) == SimOutcome::Stuck);
  node.resume();
  world.run_for(1s);
  std::sort(order.begin(), order.end());
  CHECK(order == std::vector<std::string>{"delivered", "timer", "turn", "worker"});
}

TEST_CASE("worker jobs run later, off every turn, and the pools are bounded", "[TURN-12]") {
  SimWorld world;
  SimNode& node = world.add_node("n", {.cpu_worker_queue = 2});
  int ran = 0;
  using Pool = runtime::Workers::Pool;
  REQUIRE(node.workers().post(Pool::Cpu, [&] { ++ran; }));
  REQUIRE(node.workers().post(Pool::Cpu, [&] { ++ran; }));
  const auto full = node.workers().post(Pool::Cpu, [&] { ++ran; });
  REQUIRE_FALSE(full);
  CHECK(full.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(node.workers().post(Pool::Io, [&] { ++ran; }));
  CHECK(ran == 0);
  world.run_for(1s);
  CHECK(ran == 3);
  CHECK(node.workers().post(Pool::Cpu, [&] { ++ran; }));
}

TEST_CASE("a node that has ended runs nothing and takes nothing") {
  SimWorld world;
  SimNode& node = world.add_node("n");
  auto gate = runtime::make_ref<runtime::Gate>(node.gate_environment());
  auto cell = runtime::make_ref<Cell>(*gate);
  runtime::Strand strand(node.scheduler());
  int ran = 0;
  FunctionTimer timer([&](Instant) { ++ran; });
  node.timers().arm(timer, node.clock().now() + 1s);
  push(*cell, [&]() -> Task<void> {
    ++ran;
    return {};
  });
  strand.post([&] { ++ran; });
  REQUIRE(node.workers().post(runtime::Workers::Pool::Cpu, [&] { ++ran; }));
  node.deliver([&] { ++ran; });
  node.end();
  node.deliver([&] { ++ran; });
  CHECK(strand.is_idle());
  CHECK(cell->mailbox.is_closed());
  world.run_for(10s);
  CHECK(ran == 0);
  CHECK(node.timers().cancel(timer));
}

TEST_CASE("faults strike when they are asked to, by chance or for sure") {
  SimFaults faults(1);
  CHECK_FALSE(faults.strikes("a"));
  faults.strike_next("a", 2);
  CHECK(faults.strikes("a"));
  CHECK(faults.strikes("a"));
  CHECK_FALSE(faults.strikes("a"));
  CHECK(faults.strikes_of("a") == 2);
  faults.set_chance("b", 500);
  int struck = 0;
  for (int i = 0; i < 1000; ++i) struck += faults.strikes("b") ? 1 : 0;
  CHECK(struck > 400);
  CHECK(struck < 600);
  CHECK(runtime::fault_strikes(&faults, "a") == false);
}

TEST_CASE("the turn checker sees two turns of one gate at once", "[TURN-03]") {
  SimWorld world;
  SimNode& node = world.add_node("n");
  auto gate = runtime::make_ref<runtime::Gate>(node.gate_environment());
  auto a = runtime::make_ref<Cell>(*gate);
  auto b = runtime::make_ref<Cell>(*gate);
  node.observer().on_turn_started(*gate, a->mailbox, {});
  CHECK(world.violations().empty());
  node.observer().on_turn_started(*gate, b->mailbox, {});
  CHECK(world.violations() ==
        std::vector<std::string>{"n: a turn started on a gate that had one already"});
  node.observer().on_turn_ended(*gate, b->mailbox, {});
  node.observer().on_turn_ended(*gate, b->mailbox, {});
  CHECK(world.violations().back() == "n: a turn ended on a gate that had not started it");
}

TEST_CASE("events and logs are part of the trace and of what a failure prints") {
  SimWorld world;
  SimNode& node = world.add_node("n1");
  const auto before = world.trace().hash();
  node.events().emit({.kind = "actor.created", .subject = "p1", .fields = {{"type", "player"}}});
  CHECK(world.trace().hash() != before);
  node.log().write(LogLevel::Warning, "lease", "renewal failed", {});
  CHECK_FALSE(node.log().is_enabled(LogLevel::Debug));
  CHECK(world.trace().text() ==
        "actor.created n1 p1 type=player\nwarning n1 lease: renewal failed\n");
}

}  // namespace
}  // namespace spotmesh::testing

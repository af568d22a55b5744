// The Timers contract on real threads.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "net/system_clock.hpp"
#include "net/worker_pool.hpp"
#include "unit/net/waiting.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;

namespace {

class Timer final : public runtime::TimerEntry {
 public:
  explicit Timer(std::function<void(Instant)> body) : body_(std::move(body)) {}
  void on_timer(Instant now) override { body_(now); }

 private:
  std::function<void(Instant)> body_;
};

Instant in(Duration duration) { return SystemClock().now() + duration; }

}  // namespace

TEST_CASE("a timer fires once, not before its time") {
  WorkerPool pool({.threads = 2});
  Watched<std::vector<Instant>> fired;
  Timer timer([&](Instant now) { fired.change([&](auto& times) { times.push_back(now); }); });
  const Instant deadline = in(20ms);
  pool.arm(timer, deadline);
  REQUIRE(fired.wait_until([](const auto& times) { return !times.empty(); }));
  CHECK(fired.get().front() >= deadline);
  CHECK_FALSE(pool.cancel(timer));

  // A later timer has come and gone; the first has not fired again.
  Signal later;
  Timer other([&](Instant) { later.raise(); });
  pool.arm(other, in(5ms));
  REQUIRE(later.wait());
  pool.cancel(other);
  CHECK(fired.get().size() == 1);
}

TEST_CASE("timers fire in the order of their deadlines, whatever the order they were armed in") {
  WorkerPool pool({.threads = 1});
  Watched<std::vector<int>> order;
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 8; ++i) {
    timers.push_back(std::make_unique<Timer>(
        [&order, i](Instant) { order.change([&](auto& seen) { seen.push_back(i); }); }));
  }
  const Instant start = in(10ms);
  for (int i : {5, 0, 7, 2, 6, 1, 4, 3}) {
    pool.arm(*timers[static_cast<std::size_t>(i)], start + i * 10ms);
  }
  REQUIRE(order.wait_until([](const auto& seen) { return seen.size() == 8; }));
  CHECK(order.get() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  for (auto& timer : timers) pool.cancel(*timer);
}

TEST_CASE("arming an armed timer moves it, both ways") {
  WorkerPool pool({.threads = 2});
  Signal fired;
  std::atomic<int> times{0};
  Timer timer([&](Instant) {
    ++times;
    fired.raise();
  });
  pool.arm(timer, in(1h));
  pool.arm(timer, in(2ms));
  CHECK(fired.wait());
  pool.arm(timer, in(20ms));
  pool.arm(timer, in(1h));
  Signal later;
  Timer other([&](Instant) { later.raise(); });
  pool.arm(other, in(40ms));
  CHECK(later.wait());
  CHECK(pool.cancel(timer));
  pool.cancel(other);
  CHECK(times == 1);
}

TEST_CASE("a cancelled timer does not fire") {
  WorkerPool pool({.threads = 2});
  std::atomic<int> fired{0};
  Timer timer([&](Instant) { ++fired; });
  pool.arm(timer, in(10ms));
  CHECK(pool.cancel(timer));
  CHECK_FALSE(pool.cancel(timer));
  Signal later;
  Timer other([&](Instant) { later.raise(); });
  pool.arm(other, in(30ms));
  CHECK(later.wait());
  pool.cancel(other);
  CHECK(fired == 0);
}

TEST_CASE("cancel waits for an on_timer that runs on another thread") {
  WorkerPool pool({.threads = 1});
  Signal running;
  Signal release;
  std::atomic<bool> has_returned{false};
  std::atomic<bool> was_over_at_cancel{false};
  std::atomic<bool> was_taken_out{false};
  Timer timer([&](Instant) {
    running.raise();
    has_returned = release.wait();
  });
  pool.arm(timer, in(0ms));
  REQUIRE(running.wait());
  Signal cancelling;
  std::jthread canceller([&] {
    cancelling.raise();
    was_taken_out = pool.cancel(timer);
    was_over_at_cancel = has_returned.load();
  });
  REQUIRE(cancelling.wait());
  release.raise();
  canceller.join();
  CHECK(was_over_at_cancel);
  CHECK_FALSE(was_taken_out);
}

TEST_CASE("a timer may cancel and arm itself while it fires") {
  WorkerPool pool({.threads = 2});
  Watched<int> ticks{0};
  std::atomic<bool> any_cancelled{false};
  Timer* self = nullptr;
  Timer timer([&](Instant now) {
    if (pool.cancel(*self)) any_cancelled = true;
    int count = 0;
    ticks.change([&](int& held) { count = ++held; });
    if (count < 20) pool.arm(*self, now + 1ms);
  });
  self = &timer;
  pool.arm(timer, in(1ms));
  CHECK(ticks.wait_until([](int count) { return count == 20; }));
  pool.cancel(timer);
  CHECK_FALSE(any_cancelled);
}

TEST_CASE("timers of a worker that is stuck in a runnable still fire") {
  WorkerPool pool({.threads = 2, .stuck_after = 5ms});
  Watched<int> fired{0};
  // Enough of them that both workers have some.
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 64; ++i) {
    timers.push_back(
        std::make_unique<Timer>([&](Instant) { fired.change([](int& count) { ++count; }); }));
  }
  struct Stuck final : runtime::Runnable {
    std::function<void()> body;
    After run() override {
      body();
      return After::Idle;
    }
  } stuck;
  Signal finished;
  stuck.body = [&] {
    for (auto& timer : timers) pool.arm(*timer, in(1ms));
    if (fired.wait_until([](int count) { return count == 64; })) finished.raise();
  };
  pool.submit(stuck);
  CHECK(finished.wait());
  for (auto& timer : timers) pool.cancel(*timer);
  pool.stop();
}

TEST_CASE("a timer can be freed after cancel, however close to its deadline") {
  WorkerPool pool({.threads = 3});
  std::atomic<int> outcomes{0};
  const auto churn = [&](unsigned seed) {
    for (unsigned i = 0; i < 3'000; ++i) {
      bool was_fired = false;  // guarded by cancel(), which is what this case is about
      auto timer = std::make_unique<Timer>([&was_fired](Instant) { was_fired = true; });
      pool.arm(*timer, in(std::chrono::microseconds((seed + i * 37) % 1'500)));
      if (i % 3 == 0) std::this_thread::yield();
      const bool was_cancelled = pool.cancel(*timer);
      timer.reset();
      if (was_fired != was_cancelled) ++outcomes;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t) threads.emplace_back(churn, t * 500);
  }
  CHECK(outcomes == 9'000);
}

TEST_CASE("many threads may arm and cancel the same timer") {
  WorkerPool pool({.threads = 2});
  std::atomic<int> fired{0};
  std::atomic<bool> is_inside{false};
  std::atomic<bool> overlapped{false};
  Timer timer([&](Instant) {
    if (is_inside.exchange(true)) overlapped = true;
    ++fired;
    is_inside = false;
  });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5'000; ++i) {
          pool.arm(timer, in(std::chrono::microseconds((i * 13 + t) % 300)));
          if (i % 2 == t % 2) pool.cancel(timer);
        }
      });
    }
  }
  pool.cancel(timer);
  const int fired_until_cancel = fired;
  Signal later;
  Timer other([&](Instant) { later.raise(); });
  pool.arm(other, in(20ms));
  CHECK(later.wait());
  pool.cancel(other);
  CHECK(fired == fired_until_cancel);
  CHECK_FALSE(overlapped);
}

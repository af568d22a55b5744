#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "net/worker.hpp"
#include "net/worker_pool.hpp"
#include "unit/net/waiting.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using runtime::Runnable;
using namespace std::chrono_literals;

namespace {

// Takes no worker for stuck, however long this machine lets it wait for a processor.
constexpr WorkerPoolOptions never_stuck(unsigned threads) {
  return {.threads = threads, .drain_limit = 60s, .stuck_after = 1h};
}

void wait_until_asleep(WorkerPool& pool) {
  for (unsigned i = 0; i < pool.thread_count(); ++i) {
    while (!pool.worker(i).is_sleeping()) std::this_thread::yield();
  }
}

class FunctionRunnable final : public Runnable {
 public:
  explicit FunctionRunnable(std::function<After()> body) : body_(std::move(body)) {}
  After run() override { return body_(); }

 private:
  std::function<After()> body_;
};

// Counts what it is asked to do, as a gate does: submitted when it goes from idle to runnable.
class Counter final : public Runnable {
 public:
  using Next = std::function<void(std::uint64_t index, std::uint64_t handled)>;

  Counter(WorkerPool& pool, std::uint64_t index, Next next)
      : pool_(pool), index_(index), next_(std::move(next)) {}

  void poke() {
    if (waiting_.fetch_add(1) == 0) pool_.submit(*this);
  }

  After run() override {
    if (is_running_.exchange(true)) overlapped_ = true;
    const std::uint64_t batch = std::min<std::uint64_t>(waiting_.load(), 8);
    for (std::uint64_t i = 0; i < batch; ++i) {
      ++handled_;
      next_(index_, handled_);
    }
    is_running_ = false;
    return waiting_.fetch_sub(batch) == batch ? After::Idle : After::RunAgain;
  }

  bool overlapped() const { return overlapped_; }
  std::uint64_t handled() const { return handled_; }

 private:
  WorkerPool& pool_;
  const std::uint64_t index_;
  Next next_;
  std::atomic<std::uint64_t> waiting_{0};
  std::atomic<bool> is_running_{false};
  std::atomic<bool> overlapped_{false};
  std::uint64_t handled_ = 0;  // guarded by there being one turn at a time
};

}  // namespace

TEST_CASE("no submitted work is lost, and no runnable runs on two threads at once", "[TURN-03]") {
  constexpr unsigned counters = 40;
  constexpr unsigned seeds_each = 2'000;
  constexpr std::int64_t relays = 200'000;
  WorkerPool pool(never_stuck(4));
  std::vector<std::unique_ptr<Counter>> all;
  std::atomic<std::int64_t> relays_left{relays};
  std::atomic<std::uint64_t> done{0};
  Signal everything;
  const auto next = [&](std::uint64_t index, std::uint64_t handled) {
    if (relays_left.fetch_sub(1) > 0) {
      // A different path each time: neighbours, far ones, itself.
      all[(index + handled * 7919) % counters]->poke();
    }
    if (++done == relays + 2 * seeds_each) everything.raise();
  };
  for (unsigned i = 0; i < counters; ++i) {
    all.push_back(std::make_unique<Counter>(pool, i, next));
  }
  {
    std::vector<std::jthread> outside;
    for (unsigned t = 0; t < 2; ++t) {
      outside.emplace_back([&, t] {
        for (unsigned i = 0; i < seeds_each; ++i) all[(i * 31 + t) % counters]->poke();
      });
    }
  }
  CHECK(everything.wait());
  pool.stop();
  std::uint64_t handled = 0;
  for (const auto& counter : all) {
    CHECK_FALSE(counter->overlapped());
    handled += counter->handled();
  }
  CHECK(handled == relays + 2 * seeds_each);
}

TEST_CASE("runnables that submit one another stay on one worker") {
  WorkerPool pool(never_stuck(4));
  Signal done;
  int hops = 0;
  std::vector<Worker*> seen;
  std::unique_ptr<FunctionRunnable> ping;
  std::unique_ptr<FunctionRunnable> pong;
  const auto hop = [&](Runnable& other) {
    seen.push_back(Worker::current());
    if (++hops < 10'000) {
      pool.submit(other);
    } else {
      done.raise();
    }
    return Runnable::After::Idle;
  };
  ping = std::make_unique<FunctionRunnable>([&] { return hop(*pong); });
  pong = std::make_unique<FunctionRunnable>([&] { return hop(*ping); });
  pool.submit(*ping);
  REQUIRE(done.wait());
  pool.stop();
  CHECK(std::all_of(seen.begin(), seen.end(), [&](Worker* worker) { return worker == seen[0]; }));
}

TEST_CASE("a second waiting runnable wakes a sleeping worker") {
  WorkerPool pool(never_stuck(2));
  Watched<int> present{0};
  std::atomic<int> met{0};
  // Each waits for the other, which one worker alone can never bring about.
  const auto meet = [&] {
    present.change([](int& count) { ++count; });
    if (present.wait_until([](int count) { return count == 2; })) ++met;
    return Runnable::After::Idle;
  };
  FunctionRunnable left(meet);
  FunctionRunnable right(meet);
  FunctionRunnable first([&] {
    pool.submit(left);
    pool.submit(right);
    return Runnable::After::Idle;
  });
  wait_until_asleep(pool);
  pool.submit(first);
  CHECK(present.wait_until([](int count) { return count == 2; }));
  pool.stop();
  CHECK(met == 2);
}

TEST_CASE("what waits behind a runnable that does not return is run by another worker") {
  WorkerPool pool({.threads = 2, .stuck_after = 5ms});
  Signal behind_ran;
  std::atomic<bool> was_relieved{false};
  FunctionRunnable behind([&] {
    behind_ran.raise();
    return Runnable::After::Idle;
  });
  FunctionRunnable stuck([&] {
    pool.submit(behind);
    was_relieved = behind_ran.wait();
    return Runnable::After::Idle;
  });
  pool.submit(stuck);
  REQUIRE(behind_ran.wait());
  pool.stop();
  CHECK(was_relieved);
}

TEST_CASE("an endless runnable shares its worker with others, timers and sockets") {
  WorkerPool pool({.threads = 1, .drain_limit = 0s});
  std::atomic<bool> is_over{false};
  FunctionRunnable endless(
      [&] { return is_over ? Runnable::After::Idle : Runnable::After::RunAgain; });
  pool.submit(endless);

  Signal other_ran;
  FunctionRunnable other([&] {
    other_ran.raise();
    return Runnable::After::Idle;
  });
  pool.submit(other);
  CHECK(other_ran.wait());

  Signal handler_ran;
  pool.worker(0).post([&] { handler_ran.raise(); });
  CHECK(handler_ran.wait());

  struct Entry final : runtime::TimerEntry {
    Signal fired;
    void on_timer(Instant) override { fired.raise(); }
  } entry;
  pool.arm(entry, SystemClock().now() + 1ms);
  CHECK(entry.fired.wait());
  pool.cancel(entry);
  is_over = true;
  pool.stop();  // while what is still queued is alive
}

TEST_CASE("a worker with nothing to do sleeps") {
  WorkerPool pool({.threads = 2, .stuck_after = 1ms});
  Signal ran;
  FunctionRunnable once([&] {
    ran.raise();
    return Runnable::After::Idle;
  });
  pool.submit(once);
  REQUIRE(ran.wait());
  wait_until_asleep(pool);
  const auto before = pool.worker(0).rounds() + pool.worker(1).rounds();
  struct Entry final : runtime::TimerEntry {
    Signal fired;
    void on_timer(Instant) override { fired.raise(); }
  } entry;
  pool.arm(entry, SystemClock().now() + 50ms);
  CHECK(entry.fired.wait());
  // The one that the timer woke made a round or a few; nobody went round in between.
  CHECK(pool.worker(0).rounds() + pool.worker(1).rounds() - before <= 8);
  pool.cancel(entry);
}

TEST_CASE("stop runs what is queued, and what that submits") {
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<FunctionRunnable>> chain(2'000);
  WorkerPool pool(never_stuck(2));
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i] = std::make_unique<FunctionRunnable>([&, i] {
      ++ran;
      if (i + 1 < chain.size()) pool.submit(*chain[i + 1]);
      return Runnable::After::Idle;
    });
  }
  pool.submit(*chain[0]);
  pool.stop();
  CHECK(ran == 2'000);
}

TEST_CASE("stop gives up on a runnable that always has more") {
  WorkerPool pool({.threads = 2, .drain_limit = 20ms});
  FunctionRunnable endless([] { return Runnable::After::RunAgain; });
  pool.submit(endless);
  pool.stop();
  CHECK(endless.next_in_run_queue == nullptr);
}

TEST_CASE("submitting while the pool stops, and after it, is safe") {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<FunctionRunnable>> all;
    for (int i = 0; i < 400; ++i) {
      all.push_back(std::make_unique<FunctionRunnable>([] { return Runnable::After::Idle; }));
    }
    WorkerPool pool(never_stuck(2));
    std::jthread outside([&] {
      for (int i = 0; i < 200; ++i) pool.submit(*all[static_cast<std::size_t>(i)]);
    });
    pool.stop();
    outside.join();
    for (std::size_t i = 200; i < 400; ++i) pool.submit(*all[i]);
  }
}

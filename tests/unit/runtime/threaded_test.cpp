// The same parts under real threads: run under ThreadSanitizer, these tests are the proof that the
// locks suffice.
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <thread>

#include "fixture.hpp"
#include "runtime/strand.hpp"
#include "support/small_pool.hpp"

namespace spotmesh::runtime::testing {
namespace {

using spotmesh::testing::SmallPool;
using spotmesh::testing::SteadyClock;

// Counts down to the end of all that a test has started.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}
  void done() {
    std::lock_guard lock(mutex_);
    if (--left_ == 0) zero_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    zero_.wait(lock, [this] { return left_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  int left_;
};

// A cell whose state is plain memory: only its gate protects it.
struct Counter final : RefCounted {
  explicit Counter(Gate& gate) : mailbox(*this, gate) {}
  std::map<int, int> last_of;  // by producer
  int handled = 0;
  Mailbox mailbox;
};

class CountJob final : public Job {
 public:
  CountJob(Counter& counter, int producer, int number, int* shared, Countdown& countdown)
      : counter_(counter),
        producer_(producer),
        number_(number),
        shared_(shared),
        countdown_(countdown) {}
  Task<void> run(Turn&) override {
    int& last = counter_.last_of[producer_];
    if (last + 1 != number_) throw std::runtime_error("out of order");
    last = number_;
    ++counter_.handled;
    ++*shared_;
    if (number_ % 7 == 0) return hand_over(number_ % 2 == 0);
    return {};
  }
  void finished(Turn&, std::exception_ptr failure) override {
    has_failed = static_cast<bool>(failure);
    if (has_failed) ++failures;
    countdown_.done();
  }
  void refuse(const Error&) override { countdown_.done(); }

  static inline std::atomic<int> failures{0};

 private:
  // Waits for a value that another thread may complete before, while or after the turn suspends.
  Task<void> hand_over(bool yields) {
    auto number = make_completion<int>();
    std::thread completing([number] { number->complete(1); });
    if (yields) {
      co_await number->yield();
    } else {
      co_await number->wait();
    }
    completing.join();
    ++*shared_;
  }

  Counter& counter_;
  int producer_;
  int number_;
  int* shared_;
  Countdown& countdown_;
  bool has_failed = false;
};

TEST_CASE("turns of one gate never overlap on many threads, and order is kept",
          "[TURN-01][TURN-03]") {
  constexpr int producers = 3;
  constexpr int per_producer = 210;
  constexpr int cells = 3;
  SteadyClock clock;
  CountJob::failures = 0;
  int shared = 0;
  std::vector<Ref<Counter>> counters;
  Countdown countdown(producers * per_producer * cells);
  {
    SmallPool pool(3);
    GateEnvironment environment{.clock = clock, .scheduler = pool};
    auto gate = make_ref<Gate>(environment);
    for (int i = 0; i < cells; ++i) counters.push_back(make_ref<Counter>(*gate));
    std::vector<std::thread> threads;
    for (int producer = 0; producer < producers; ++producer) {
      threads.emplace_back([&, producer] {
        for (int number = 1; number <= per_producer; ++number) {
          for (auto& counter : counters) {
            auto job = std::make_unique<CountJob>(*counter, producer, number, &shared, countdown);
            if (!counter->mailbox.push(Lane::Application, std::move(job))) std::terminate();
          }
        }
      });
    }
    for (auto& thread : threads) thread.join();
    countdown.wait();
  }
  CHECK(CountJob::failures == 0);
  for (auto& counter : counters) CHECK(counter->handled == producers * per_producer);
  CHECK(shared == cells * producers * (per_producer + per_producer / 7));
}

// Moves a mailbox to and fro between gates, as Joins do.
class Mover final : public ClaimWaiter {
 public:
  Mover(Mailbox& mailbox, std::vector<Ref<Gate>> gates, int moves, Strand& strand,
        Countdown& countdown)
      : mailbox_(mailbox),
        gates_(std::move(gates)),
        left_(moves),
        strand_(strand),
        countdown_(countdown) {}
  void start() { mailbox_.claim(*this); }
  void on_claimed() override {
    strand_.post([this] {
      const int left = --left_;
      mailbox_.move_to(*gates_[static_cast<std::size_t>(left) % gates_.size()]);
      mailbox_.release_claim();
      if (left > 0) {
        mailbox_.claim(*this);
      } else {
        countdown_.done();
      }
    });
  }

 private:
  Mailbox& mailbox_;
  std::vector<Ref<Gate>> gates_;
  int left_;
  Strand& strand_;
  Countdown& countdown_;
};

TEST_CASE("a mailbox that moves between gates under load loses and reorders nothing", "[TURN-08]") {
  constexpr int jobs = 900;
  SteadyClock clock;
  CountJob::failures = 0;
  int of_counter = 0;
  Countdown countdown(jobs + 1);
  Ref<Counter> counter;
  {
    SmallPool pool(3);
    GateEnvironment environment{.clock = clock, .scheduler = pool};
    std::vector<Ref<Gate>> gates = {make_ref<Gate>(environment), make_ref<Gate>(environment)};
    counter = make_ref<Counter>(*gates[0]);
    Strand strand(pool);
    Mover mover(counter->mailbox, gates, 200, strand, countdown);
    mover.start();
    for (int number = 1; number <= jobs; ++number) {
      auto job = std::make_unique<CountJob>(*counter, 0, number, &of_counter, countdown);
      if (!counter->mailbox.push(Lane::Application, std::move(job))) std::terminate();
    }
    countdown.wait();
    while (!strand.is_idle()) std::this_thread::yield();
  }
  CHECK(CountJob::failures == 0);
  CHECK(counter->handled == jobs);
}

// Pushes jobs that yield, completes what they wait for, and meanwhile lets `end` end it all.
void race_with(const std::function<void(Gate&, Mailbox&)>& end) {
  constexpr std::size_t jobs = 60;
  SteadyClock clock;
  int shared = 0;
  Ref<Gate> gate;
  Ref<Counter> counter;
  {
    SmallPool pool(2);
    gate = make_ref<Gate>(GateEnvironment{.clock = clock, .scheduler = pool});
    counter = make_ref<Counter>(*gate);
    std::vector<Ref<Completion<int>>> numbers;
    for (std::size_t i = 0; i < jobs; ++i) numbers.push_back(make_completion<int>());
    std::thread pushing([&] {
      for (std::size_t i = 0; i < jobs; ++i) {
        auto job = std::make_unique<TestJob>([&shared, number = numbers[i]](Turn&) -> Task<void> {
          ++shared;
          (void)co_await number->yield();
          ++shared;
        });
        (void)counter->mailbox.push(i % 2 == 0 ? Lane::Application : Lane::Control, std::move(job));
      }
    });
    std::thread completing([&] {
      for (const auto& number : numbers) number->complete(1);
    });
    end(*gate, counter->mailbox);
    pushing.join();
    completing.join();
  }
  CHECK(counter->mailbox.is_closed());
  CHECK(counter->mailbox.backlog().application + counter->mailbox.backlog().control == 0);
  CHECK_FALSE(counter->mailbox.backlog().is_running);
  CHECK(gate->state().yielded_turns == 0);
  CHECK(gate->state().ready_mailboxes == 0);
}

TEST_CASE("closing races with pushes and completions and leaves nothing behind") {
  for (int round = 0; round < 30; ++round) {
    race_with([](Gate&, Mailbox& mailbox) { mailbox.close(Error::unavailable("closed")); });
  }
}

TEST_CASE("abandoning races with pushes and completions and leaves nothing behind") {
  for (int round = 0; round < 30; ++round) {
    race_with([](Gate& gate, Mailbox& mailbox) {
      gate.abandon();
      // Nothing may have been listed when it was abandoned.
      (void)mailbox.push(Lane::Control,
                         std::make_unique<TestJob>([](Turn&) -> Task<void> { return {}; }));
    });
  }
}

}  // namespace
}  // namespace spotmesh::runtime::testing

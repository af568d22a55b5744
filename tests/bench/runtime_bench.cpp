// What the runtime charges for a message, a turn that awaits and a timer, on one thread: no wake-up
// and no contention is in these figures.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "runtime/completion.hpp"
#include "runtime/gate.hpp"
#include "runtime/timer_wheel.hpp"

namespace spotmesh::runtime {
namespace {

class SteadyClock final : public Clock {
 public:
  Instant now() const override { return {std::chrono::steady_clock::now().time_since_epoch()}; }
  WallTime wall_now() const override { return {}; }
};

class OneThread final : public Scheduler {
 public:
  void submit(Runnable& runnable) override {
    runnable.next_in_run_queue = nullptr;
    (last_ == nullptr ? first_ : last_->next_in_run_queue) = &runnable;
    last_ = &runnable;
  }
  void run_all() {
    while (first_ != nullptr) {
      Runnable* runnable = std::exchange(first_, first_->next_in_run_queue);
      if (first_ == nullptr) last_ = nullptr;
      if (runnable->run() == Runnable::After::RunAgain) submit(*runnable);
    }
  }

 private:
  Runnable* first_ = nullptr;
  Runnable* last_ = nullptr;
};

struct Cell final : RefCounted {
  explicit Cell(Gate& gate) : mailbox(*this, gate) {}
  Mailbox mailbox;
  std::int64_t handled = 0;
};

struct Node {
  SteadyClock clock;
  OneThread scheduler;
  GateEnvironment environment{.clock = clock, .scheduler = scheduler};
  Ref<Cell> cell() { return make_ref<Cell>(*make_ref<Gate>(environment)); }
};

class CountJob final : public Job {
 public:
  explicit CountJob(Cell& cell) : cell_(cell) {}
  Task<void> run(Turn&) override {
    ++cell_.handled;
    return {};
  }
  void finished(Turn&, std::exception_ptr) override {}
  void refuse(const Error&) override {}

 private:
  Cell& cell_;
};

class CoroutineJob final : public Job {
 public:
  explicit CoroutineJob(Cell& cell) : cell_(cell) {}
  Task<void> run(Turn&) override { return handle(); }
  void finished(Turn&, std::exception_ptr) override {}
  void refuse(const Error&) override {}

 private:
  Task<void> handle() {
    ++cell_.handled;
    co_return;
  }
  Cell& cell_;
};

// Answers the other cell until the ball has crossed `left` times.
class PingJob final : public Job {
 public:
  PingJob(Cell& here, Cell& there, std::int64_t left) : here_(here), there_(there), left_(left) {}
  Task<void> run(Turn&) override {
    if (left_ > 0) {
      (void)there_.mailbox.push(Lane::Application,
                                std::make_unique<PingJob>(there_, here_, left_ - 1));
    }
    return {};
  }
  void finished(Turn&, std::exception_ptr) override {}
  void refuse(const Error&) override {}

 private:
  Cell& here_;
  Cell& there_;
  std::int64_t left_;
};

template <typename JobType>
void push_and_dispatch(benchmark::State& state) {
  Node node;
  auto cell = node.cell();
  const std::int64_t batch = state.range(0);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < batch; ++i) {
      (void)cell->mailbox.push(Lane::Application, std::make_unique<JobType>(*cell));
    }
    node.scheduler.run_all();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(push_and_dispatch<CountJob>)->Arg(1)->Arg(64)->Arg(1000);
BENCHMARK(push_and_dispatch<CoroutineJob>)->Arg(1)->Arg(64)->Arg(1000);

// Two Actors with a gate each: every message is a gate of its own to submit and run.
void ping_pong(benchmark::State& state) {
  constexpr std::int64_t crossings = 10'000;
  Node node;
  auto a = node.cell();
  auto b = node.cell();
  for (auto _ : state) {
    (void)a->mailbox.push(Lane::Application, std::make_unique<PingJob>(*a, *b, crossings));
    node.scheduler.run_all();
  }
  state.SetItemsProcessed(state.iterations() * crossings);
}
BENCHMARK(ping_pong);

class AskJob final : public Job {
 public:
  AskJob(std::vector<Ref<Completion<int>>>& asked, bool yields) : asked_(asked), yields_(yields) {}
  Task<void> run(Turn&) override { return ask(); }
  void finished(Turn&, std::exception_ptr) override {}
  void refuse(const Error&) override {}

 private:
  Task<void> ask() {
    auto number = make_completion<int>();
    asked_.push_back(number);
    benchmark::DoNotOptimize(yields_ ? co_await number->yield() : co_await number->wait());
  }
  std::vector<Ref<Completion<int>>>& asked_;
  bool yields_;
};

// A turn that suspends once and is resumed: arg 0 keeps the gate, arg 1 yields it.
void suspend_and_resume(benchmark::State& state) {
  Node node;
  auto cell = node.cell();
  std::vector<Ref<Completion<int>>> asked;
  for (auto _ : state) {
    (void)cell->mailbox.push(Lane::Application,
                             std::make_unique<AskJob>(asked, state.range(0) == 1));
    node.scheduler.run_all();
    asked.back()->complete(1);
    asked.clear();
    node.scheduler.run_all();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(suspend_and_resume)->Arg(0)->Arg(1);

struct Entry final : TimerEntry {
  void on_timer(Instant) override {}
};

// Arms and cancels among a hundred thousand others, as request deadlines do.
void timer_arm_and_cancel(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<Entry> others(100'000);
  Entry entry;
  TimerWheel wheel({});
  for (Entry& entry : others)
    wheel.arm(entry, {Duration(static_cast<Duration::rep>(random() % 60'000'000'000))});
  std::int64_t deadline = 5'000'000'000;
  for (auto _ : state) {
    wheel.arm(entry, {Duration(deadline)});
    wheel.cancel(entry);
    deadline += 1000;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(timer_arm_and_cancel);

// From arming to expiry, with the ways through finer slots in between.
void timer_arm_and_expire(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<Entry> entries(1000);
  TimerWheel wheel({});
  Instant now{};
  for (auto _ : state) {
    for (Entry& entry : entries) {
      wheel.arm(entry, now + Duration(static_cast<Duration::rep>(random() % 5'000'000'000)));
    }
    const Instant end = now + std::chrono::seconds(5);
    while (now < end) {
      now = now + std::chrono::milliseconds(5);
      wheel.advance(now, [](TimerEntry&) {});
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(entries.size()));
}
BENCHMARK(timer_arm_and_expire);

}  // namespace
}  // namespace spotmesh::runtime

// A gate's surroundings in one thread, driven by hand: each test says what runs when.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/completion.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/timer_wheel.hpp"

namespace spotmesh::runtime::testing {

class ManualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall_now() const override { return {}; }
  void advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_{};
};

// A first-come run queue.
class ManualScheduler final : public Scheduler {
 public:
  void submit(Runnable& runnable) override {
    ++submissions;
    queue_.push_back(&runnable);
  }
  // Runs what stands at the front once; false when nothing does.
  bool run_one() {
    if (queue_.empty()) return false;
    Runnable* runnable = queue_.front();
    queue_.pop_front();
    ++runs;
    if (runnable->run() == Runnable::After::RunAgain) queue_.push_back(runnable);
    return true;
  }
  void run_all() {
    while (run_one()) {
    }
  }
  std::size_t queued() const { return queue_.size(); }

  int submissions = 0;
  int runs = 0;

 private:
  std::deque<Runnable*> queue_;
};

// The real wheel under a clock that the test sets.
class ManualTimers final : public Timers {
 public:
  explicit ManualTimers(ManualClock& clock) : clock_(clock), wheel_(clock.now()) {}
  void arm(TimerEntry& entry, Instant deadline) override { wheel_.arm(entry, deadline); }
  bool cancel(TimerEntry& entry) override { return wheel_.cancel(entry); }
  // Goes to the next moment at which something is due; false when nothing is armed before `end`.
  bool jump(Instant end) {
    const auto next = wheel_.next_deadline();
    if (!next || *next > end) return false;
    if (*next > clock_.now()) clock_.advance(*next - clock_.now());
    fire();
    return true;
  }
  void fire() {
    wheel_.advance(clock_.now(), [this](TimerEntry& entry) { entry.on_timer(clock_.now()); });
  }

 private:
  ManualClock& clock_;
  TimerWheel wheel_;
};

// What an Actor or Spot is to the runtime: the owner of a mailbox.
class Cell final : public RefCounted {
 public:
  explicit Cell(Gate& gate) : mailbox(*this, gate) {}
  Cell(Gate& gate, Mailbox::Bounds bounds, OnYield on_yield = OnYield::KeepMailbox)
      : mailbox(*this, gate, bounds, on_yield) {}
  Mailbox mailbox;
};

// A job made of functions.
class TestJob final : public Job {
 public:
  using Body = std::function<Task<void>(Turn&)>;
  explicit TestJob(Body body) : body_(std::move(body)) {}

  Task<void> run(Turn& turn) override { return body_(turn); }
  void finished(Turn& turn, std::exception_ptr failure) override {
    if (on_finished) on_finished(turn, failure);
  }
  void refuse(const Error& error) override {
    if (on_refused) on_refused(error);
  }

  std::function<void(Turn&, std::exception_ptr)> on_finished;
  std::function<void(const Error&)> on_refused;

 private:
  Body body_;
};

struct GateFixture {
  ManualClock clock;
  ManualScheduler scheduler;
  GateEnvironment environment{.clock = clock, .scheduler = scheduler};
  std::vector<std::string> trace;

  Ref<Gate> make_gate() { return make_ref<Gate>(environment); }

  void note(std::string what) { trace.push_back(std::move(what)); }
  // A synchronous job that leaves `name` in the trace.
  std::unique_ptr<TestJob> noting(std::string name) {
    return doing([this, name = std::move(name)] { note(name); });
  }
  std::unique_ptr<TestJob> doing(std::function<void()> body) {
    return std::make_unique<TestJob>([body = std::move(body)](Turn&) {
      body();
      return Task<void>();
    });
  }
  // A job whose body is a coroutine.
  std::unique_ptr<TestJob> awaiting(std::function<Task<void>()> body) {
    return std::make_unique<TestJob>([body = std::move(body)](Turn&) { return body(); });
  }
  void push(Cell& cell, std::unique_ptr<Job> job, Lane lane = Lane::Application) {
    const auto pushed = cell.mailbox.push(lane, std::move(job));
    if (!pushed) throw std::runtime_error(pushed.error().message());
  }
};

}  // namespace spotmesh::runtime::testing

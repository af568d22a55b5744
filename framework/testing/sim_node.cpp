#include "testing/sim_node.hpp"

#include <utility>

#include <fmt/format.h>

#include "runtime/strand.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::testing {
namespace {

std::string stream_name(std::string_view node, std::string_view what) {
  return std::string("node ").append(node).append(" ").append(what);
}

}  // namespace

SimNode::SimNode(SimWorld& world, std::string name, std::uint32_t number, SimNodeOptions options)
    : world_(world),
      name_(std::move(name)),
      number_(number),
      clock_(world, options.clock_offset, options.drift_ppm),
      wheel_(clock_.now()),
      random_(world.seed(), stream_name(name_, "random")),
      worker_random_(world.seed(), stream_name(name_, "workers")),
      faults_(SimRandom(world.seed(), stream_name(name_, "faults")).next_u64()),
      worker_bounds_{options.cpu_worker_queue, options.io_worker_queue} {}

SimNode::~SimNode() = default;

void SimNode::pause() { is_paused_ = true; }

void SimNode::resume() {
  is_paused_ = false;
  world_.at(world_.now(), [this] { take_waiting(); });
}

// One after another, as all that comes. What was delivered meanwhile has its turn behind them, also
// when its moment was before this one: a turn may have taken time since.
void SimNode::take_waiting() {
  if (has_ended_ || is_paused_ || waiting_.empty()) return;
  const auto job = std::move(waiting_.front());
  waiting_.pop_front();
  job();
  if (!waiting_.empty()) world_.at(world_.now(), [this] { take_waiting(); });
}

void SimNode::deliver(std::function<void()> job) {
  if (has_ended_) return;
  world_.at(world_.now(), [this, job = std::move(job)]() mutable {
    if (has_ended_) return;
    if (is_paused_ || !waiting_.empty()) {
      waiting_.push_back(std::move(job));
    } else {
      job();
    }
  });
}

void SimNode::end() {
  is_paused_ = false;
  has_ended_ = true;
  waiting_.clear();
  while (!run_queue_.empty()) {
    runtime::Runnable* runnable = run_queue_.back();
    if (auto* gate = dynamic_cast<runtime::Gate*>(runnable)) gate->abandon();
    if (auto* strand = dynamic_cast<runtime::Strand*>(runnable)) strand->close();
    run(run_queue_.size() - 1);
  }
}

void SimNode::submit(runtime::Runnable& runnable) { run_queue_.push_back(&runnable); }

void SimNode::arm(runtime::TimerEntry& entry, Instant deadline) { wheel_.arm(entry, deadline); }

bool SimNode::cancel(runtime::TimerEntry& entry) { return wheel_.cancel(entry); }

Result<void> SimNode::post(Pool pool, std::function<void()> job) {
  const auto index = static_cast<std::size_t>(pool);
  if (worker_jobs_[index] >= worker_bounds_[index]) {
    return fail(Error::capacity_exceeded(
        fmt::format("the {} worker pool is full: {} jobs are waiting",
                    pool == Pool::Cpu ? "cpu" : "io", worker_bounds_[index])));
  }
  ++worker_jobs_[index];
  const Duration latency = worker_random_.between(world_.options().min_worker_latency,
                                                  world_.options().max_worker_latency);
  world_.at(world_.now() + latency, [this, index, job = std::move(job)]() mutable {
    deliver([this, index, job = std::move(job)] {
      --worker_jobs_[index];
      job();
    });
  });
  return {};
}

void SimNode::emit(Event event) {
  event.subject = name_ + " " + event.subject;
  world_.trace().emit(std::move(event));
}

void SimNode::write(LogLevel level, std::string_view component, std::string message,
                    std::vector<LogField> fields) {
  constexpr std::array<std::string_view, 4> names = {"debug", "info", "warning", "error"};
  world_.trace().emit({.kind = names.at(static_cast<std::size_t>(level)),
                       .subject = fmt::format("{} {}: {}", name_, component, message),
                       .fields = std::move(fields)});
}

void SimNode::on_turn_started(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                              Instant now) {
  checker_.on_turn_started(gate, mailbox, now);
  for (WorldObserver* observer : world_.observers()) {
    observer->on_turn_started(*this, gate, mailbox, now);
  }
  const auto backlog = mailbox.backlog();
  world_.trace().fold(number_);
  world_.trace().fold(backlog.application * 4096 + backlog.control);
  world_.trace().fold(static_cast<std::uint64_t>(now.since_origin.count()));
}

void SimNode::on_turn_resumed(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                              Instant now) {
  for (WorldObserver* observer : world_.observers()) {
    observer->on_turn_resumed(*this, gate, mailbox, now);
  }
}

void SimNode::on_turn_ended(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                            Instant now) {
  checker_.on_turn_ended(gate, mailbox, now);
  for (WorldObserver* observer : world_.observers()) {
    observer->on_turn_ended(*this, gate, mailbox, now);
  }
  if (!has_ended_) world_.charge_turn(std::exchange(suspension_, Duration::zero()));
}

void SimNode::on_flush(const runtime::Gate& gate, const runtime::Mailbox& mailbox, Instant) {
  for (WorldObserver* observer : world_.observers()) observer->on_flush(*this, gate, mailbox);
}

void SimNode::run(std::size_t index) {
  runtime::Runnable* runnable = std::exchange(run_queue_[index], run_queue_.back());
  run_queue_.pop_back();
  if (runnable->run() == runtime::Runnable::After::RunAgain) run_queue_.push_back(runnable);
}

std::optional<Instant> SimNode::next_timer() const {
  if (is_paused_ || has_ended_) return std::nullopt;
  const auto next = wheel_.next_deadline();
  if (!next) return std::nullopt;
  return clock_.world_at(*next);
}

void SimNode::fire_timers(Instant world_time) {
  wheel_.advance(clock_.local_at(world_time), [this](runtime::TimerEntry& entry) {
    world_.trace().fold(number_);
    entry.on_timer(clock_.now());
  });
}

}  // namespace spotmesh::testing

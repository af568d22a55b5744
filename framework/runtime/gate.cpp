#include "runtime/gate.hpp"

#include <cassert>
#include <mutex>
#include <utility>

#include <spotmesh/limits.hpp>

#include "runtime/task_driver.hpp"
#include "runtime/turn_window.hpp"

namespace spotmesh::runtime {

Gate::Gate(GateEnvironment environment) : environment_(environment) {}

Gate::~Gate() {
  assert(!is_active_ && !is_submitted_ && first_ready_ == nullptr && yielded_ == nullptr);
}

Runnable::After Gate::run() {
  Instant now = environment_.clock.now();
  return run_from(now);
}

Runnable::After Gate::run_from(Instant& now) {
  const Instant batch_end = now + limits::gate_batch_time;
  unsigned turns = 0;
  Outcome last = Outcome::None;
  while (true) {
    const bool is_open = environment_.admission == nullptr ||
                         environment_.admission->is_open(now) ||
                         fault_strikes(environment_.faults, "gate.past-deadline");
    const bool is_batch_over = turns >= limits::gate_batch_jobs || now >= batch_end;
    if (ended_mailbox_ != nullptr) {
      if (is_open && !is_batch_over && !is_wanted_.load(std::memory_order_acquire)) {
        if (const Outcome next = run_on(now); next != Outcome::None) {
          last = next;
          ++turns;
          now = after_execution(last);
          continue;
        }
      } else if (Mailbox& ended = *std::exchange(ended_mailbox_, nullptr); ended.finish_turn()) {
        finished_mailbox_ = &ended;
      }
    }
    switch (next_step(last, is_open, is_batch_over)) {
      case Step::Idle:
        release_ref();
        return After::Idle;
      case Step::Pause:
        return After::RunAgain;
      case Step::Park:
        environment_.admission->park(*this, now);
        return After::Idle;
      case Step::Abandoned:
        clear_abandoned();
        release_ref();
        return After::Idle;
      case Step::Resume:
        last = run_resumed(now);
        break;
      case Step::NewJob:
        last = run_new_job(now);
        break;
    }
    if (last == Outcome::Skipped) continue;
    ++turns;
    now = after_execution(last);
  }
}

void Gate::resume(Turn& turn) {
  {
    std::lock_guard lock(mutex_);
    if (is_abandoned_) return;
    if (turn.is_yielded_) {
      turn.next_resumed_ = nullptr;
      (last_resumed_ == nullptr ? first_resumed_ : last_resumed_->next_resumed_) = &turn;
      last_resumed_ = &turn;
    } else {
      is_active_resumed_ = true;
    }
    is_wanted_.store(true, std::memory_order_relaxed);
    if (!claim_submission_locked()) return;
  }
  submit();
}

void Gate::abandon(std::function<void()> cleared) {
  const Ref<Gate> self(this);
  {
    std::lock_guard lock(mutex_);
    if (is_abandoned_) return;
    is_abandoned_ = true;
    is_wanted_.store(true, std::memory_order_relaxed);
    if (cleared) {
      cleared_ = std::make_unique<const std::function<void()>>(std::move(cleared));
    }
    if (is_submitted_) return;  // run() clears it
  }
  clear_abandoned();
}

void Gate::submit_parked() { submit(); }

Gate::State Gate::state() const {
  std::lock_guard lock(mutex_);
  return {.has_turn = is_active_, .ready_mailboxes = ready_count_, .yielded_turns = yielded_count_};
}

Gate::Listing Gate::list_ready(Mailbox& mailbox) {
  std::lock_guard lock(mutex_);
  if (is_abandoned_) return Listing::Abandoned;
  append_ready_locked(mailbox);
  is_wanted_.store(true, std::memory_order_relaxed);
  return claim_submission_locked() ? Listing::Submit : Listing::Listed;
}

bool Gate::unlist_ready(Mailbox& mailbox) {
  std::lock_guard lock(mutex_);
  if (mailbox.listed_in_.load(std::memory_order_relaxed) != this) return false;
  remove_ready_locked(mailbox);
  return true;
}

Gate::Step Gate::next_step(Outcome last, bool is_open, bool is_batch_over) {
  std::lock_guard lock(mutex_);
  settle_locked(last);
  if (is_abandoned_) {
    is_submitted_ = false;
    return Step::Abandoned;
  }
  if (!has_work_locked()) {
    // An idle gate keeps no spare turn: there are a million of them, and the pool has some.
    if (!is_active_) turn_.reset();
    is_submitted_ = false;
    return Step::Idle;
  }
  if (is_batch_over) return Step::Pause;
  if (!is_open) return Step::Park;
  return take_step_locked();
}

void Gate::settle_locked(Outcome last) {
  if (last == Outcome::None || last == Outcome::Waiting) return;
  is_active_ = false;
  if (last == Outcome::Yielded) add_yielded_locked(*turn_.release());
  if (finished_mailbox_ != nullptr) append_ready_locked(*std::exchange(finished_mailbox_, nullptr));
}

Gate::Step Gate::take_step_locked() {
  if (is_active_) {
    is_active_resumed_ = false;
    note_wanted_locked();
    return Step::Resume;
  }
  is_active_ = true;
  const bool mailboxes_wait = first_ready_ != nullptr;
  if (first_resumed_ != nullptr &&
      (!mailboxes_wait || resumed_in_a_row_ < limits::resumed_turns_in_a_row)) {
    resumed_in_a_row_ = mailboxes_wait ? resumed_in_a_row_ + 1 : 0;
    Turn* turn = first_resumed_;
    first_resumed_ = std::exchange(turn->next_resumed_, nullptr);
    if (first_resumed_ == nullptr) last_resumed_ = nullptr;
    remove_yielded_locked(*turn);
    turn_.reset(turn);
    note_wanted_locked();
    return Step::Resume;
  }
  resumed_in_a_row_ = 0;
  popped_mailbox_ = first_ready_;
  remove_ready_locked(*popped_mailbox_);
  note_wanted_locked();
  return Step::NewJob;
}

void Gate::note_wanted_locked() {
  is_wanted_.store(is_abandoned_ || first_ready_ != nullptr || first_resumed_ != nullptr,
                   std::memory_order_relaxed);
}

bool Gate::has_work_locked() const {
  if (is_active_) return is_active_resumed_;
  return first_resumed_ != nullptr || first_ready_ != nullptr;
}

bool Gate::claim_submission_locked() {
  if (is_submitted_ || !has_work_locked()) return false;
  is_submitted_ = true;
  add_ref();
  return true;
}

void Gate::append_ready_locked(Mailbox& mailbox) {
  mailbox.listed_in_.store(this, std::memory_order_relaxed);
  mailbox.previous_ready_ = last_ready_;
  mailbox.next_ready_ = nullptr;
  (last_ready_ == nullptr ? first_ready_ : last_ready_->next_ready_) = &mailbox;
  last_ready_ = &mailbox;
  ++ready_count_;
}

void Gate::remove_ready_locked(Mailbox& mailbox) {
  (mailbox.previous_ready_ == nullptr ? first_ready_ : mailbox.previous_ready_->next_ready_) =
      mailbox.next_ready_;
  (mailbox.next_ready_ == nullptr ? last_ready_ : mailbox.next_ready_->previous_ready_) =
      mailbox.previous_ready_;
  mailbox.listed_in_.store(nullptr, std::memory_order_relaxed);
  --ready_count_;
}

void Gate::add_yielded_locked(Turn& turn) {
  turn.previous_yielded_ = nullptr;
  turn.next_yielded_ = yielded_;
  if (yielded_ != nullptr) yielded_->previous_yielded_ = &turn;
  yielded_ = &turn;
  ++yielded_count_;
}

void Gate::remove_yielded_locked(Turn& turn) {
  (turn.previous_yielded_ == nullptr ? yielded_ : turn.previous_yielded_->next_yielded_) =
      turn.next_yielded_;
  if (turn.next_yielded_ != nullptr) turn.next_yielded_->previous_yielded_ = turn.previous_yielded_;
  --yielded_count_;
}

Gate::Outcome Gate::run_new_job(Instant now) {
  Mailbox& mailbox = *std::exchange(popped_mailbox_, nullptr);
  auto job = mailbox.take_next(*this, now);
  if (job == nullptr) return Outcome::Skipped;
  return start(mailbox, std::move(job), now);
}

Gate::Outcome Gate::run_on(Instant now) {
  Mailbox& mailbox = *std::exchange(ended_mailbox_, nullptr);
  auto job = mailbox.finish_turn_and_take(now);
  if (job == nullptr) return Outcome::None;
  resumed_in_a_row_ = 0;
  return start(mailbox, std::move(job), now);
}

Gate::Outcome Gate::start(Mailbox& mailbox, std::unique_ptr<Job> job, Instant now) {
  if (turn_ == nullptr) turn_ = std::make_unique<Turn>(*this);
  turn_->mailbox_ = &mailbox;
  turn_->now_ = now;
  turn_->job_ = std::move(job);
  if (environment_.observer != nullptr) {
    environment_.observer->on_turn_started(*this, mailbox, now);
  }
  return execute(*turn_, true);
}

Gate::Outcome Gate::run_resumed(Instant now) {
  Turn& turn = *turn_;
  turn.now_ = now;
  const bool was_yielded = std::exchange(turn.is_yielded_, false);
  if (TurnObserver* observer = environment_.observer; observer != nullptr) {
    was_yielded ? observer->on_turn_started(*this, *turn.mailbox_, now)
                : observer->on_turn_resumed(*this, *turn.mailbox_, now);
  }
  if (turn.mailbox_->is_abandoned_.load()) return drop(turn);
  return execute(turn, false);
}

Gate::Outcome Gate::drop(Turn& turn) {
  end_unfinished(turn);
  return Outcome::Ended;
}

// The job of an abandoned mailbox is refused once its frame is gone: whoever waits for it learns
// that. Otherwise nobody is left who could be told.
void Gate::end_unfinished(Turn& turn) {
  turn.resume_point_ = nullptr;
  turn.task_ = Task<void>();
  if (turn.mailbox_->is_abandoned_.load()) turn.job_->refuse(turn.mailbox_->closing_error());
  turn.job_.reset();
  turn.scope_.reset();
}

Gate::Outcome Gate::execute(Turn& turn, bool is_new) noexcept {
  const Turn::Window window(turn);
  std::exception_ptr failure;
  if (is_new) {
    try {
      turn.task_ = turn.job_->run(turn);
    } catch (...) {
      failure = std::current_exception();
    }
    if (turn.task_) TaskDriver::start(turn.task_);
  } else {
    std::exchange(turn.resume_point_, nullptr).resume();
  }
  if (turn.task_) {
    if (!TaskDriver::is_done(turn.task_)) {
      assert(turn.resume_point_ && "a Task suspends only in an awaiter of the runtime");
      if (fault_strikes(environment_.faults, "gate.second-turn")) turn.is_yielded_ = true;
      return turn.is_yielded_ ? Outcome::Yielded : Outcome::Waiting;
    }
    failure = TaskDriver::failure(turn.task_);
    turn.task_ = Task<void>();
  }
  turn.job_->finished(turn, std::move(failure));
  turn.job_.reset();
  turn.scope_.reset();
  return Outcome::Ended;
}

Instant Gate::after_execution(Outcome outcome) {
  Turn& turn = *turn_;
  Instant now = environment_.clock.now();
  if (environment_.observer != nullptr && outcome != Outcome::Waiting) {
    environment_.observer->on_turn_ended(*this, *turn.mailbox_, now);
    now = environment_.clock.now();  // a simulator charges the turn's time there
  }
  if (!turn.flush_list_.empty()) flush(turn, now);
  if (outcome == Outcome::Yielded) leave_mailbox(turn);
  if (outcome == Outcome::Ended) {
    Mailbox* mailbox = std::exchange(turn.mailbox_, nullptr);
    if (turn.left_ != nullptr) {
      mailbox->finish_left_turn(std::exchange(turn.left_, nullptr));
    } else {
      ended_mailbox_ = mailbox;
    }
  }
  return now;
}

void Gate::leave_mailbox(Turn& turn) {
  if (turn.left_ != nullptr) return;
  const Mailbox::Yielded yielded = turn.mailbox_->yield_turn();
  turn.left_ = yielded.left;
  if (yielded.is_ready) finished_mailbox_ = turn.mailbox_;
}

void Gate::flush(Turn& turn, Instant now) {
  turn.release_flush_marks();
  if (environment_.admission != nullptr && !environment_.admission->is_open(now) &&
      !fault_strikes(environment_.faults, "flush.past-deadline")) {
    environment_.admission->hold_flush(std::exchange(turn.flush_list_, {}), now);
    return;
  }
  if (environment_.observer != nullptr) environment_.observer->on_flush(*this, *turn.mailbox_, now);
  for (const Ref<Flushable>& flushable : turn.flush_list_) flushable->flush();
  turn.flush_list_.clear();
}

void Gate::clear_abandoned() {
  Mailbox* ready = nullptr;
  Turn* yielded = nullptr;
  std::unique_ptr<Turn> active;
  std::unique_ptr<const std::function<void()>> cleared;
  {
    std::lock_guard lock(mutex_);
    cleared = std::move(cleared_);
    if (std::exchange(is_active_, false)) active = std::move(turn_);
    for (Mailbox* mailbox = first_ready_; mailbox != nullptr; mailbox = mailbox->next_ready_) {
      mailbox->listed_in_.store(nullptr, std::memory_order_relaxed);
    }
    ready = std::exchange(first_ready_, nullptr);
    last_ready_ = nullptr;
    ready_count_ = 0;
    yielded = std::exchange(yielded_, nullptr);
    yielded_count_ = 0;
    first_resumed_ = last_resumed_ = nullptr;
  }
  const auto discard_turn = [](std::unique_ptr<Turn> turn) {
    Mailbox* mailbox = turn->mailbox_;
    end_unfinished(*turn);
    turn.reset();
    mailbox->discard();
  };
  if (active != nullptr) {
    if (environment_.observer != nullptr) {
      environment_.observer->on_turn_ended(*this, *active->mailbox_, environment_.clock.now());
    }
    discard_turn(std::move(active));
  }
  while (yielded != nullptr) {
    Turn* turn = std::exchange(yielded, yielded->next_yielded_);
    discard_turn(std::unique_ptr<Turn>(turn));
  }
  while (ready != nullptr) std::exchange(ready, ready->next_ready_)->discard();
  if (cleared != nullptr) (*cleared)();
}

}  // namespace spotmesh::runtime

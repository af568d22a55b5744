#include "runtime/mailbox.hpp"

#include <cassert>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "runtime/gate.hpp"

namespace spotmesh::runtime {
namespace {

Error lane_full(Lane lane, std::size_t bound) {
  return Error::capacity_exceeded(fmt::format("the mailbox is full: {} {} jobs are waiting", bound,
                                              lane == Lane::Control ? "control" : "application"));
}

}  // namespace

Mailbox::Mailbox(RefCounted& owner, Gate& gate, Bounds bounds, OnYield on_yield)
    : owner_(owner), gate_(&gate), bounds_(bounds), on_yield_(on_yield) {}

Mailbox::Mailbox(RefCounted& owner, Gate& gate) : Mailbox(owner, gate, Bounds()) {}

struct Mailbox::LeftTurn : Pooled {
  RunningTurn turn;
  LeftTurn* previous = nullptr;
  LeftTurn* next = nullptr;
};

// Turns that had left are there still when their gate was abandoned.
Mailbox::~Mailbox() {
  assert(state_ != State::Ready && state_ != State::Running);
  while (left_turns_ != nullptr) delete std::exchange(left_turns_, left_turns_->next);
}

Result<void> Mailbox::try_push(Lane lane, std::unique_ptr<Job>& job) {
  Gate* to_submit = nullptr;
  Jobs dropped;
  {
    std::lock_guard lock(mutex_);
    if (closed_with_) return fail(*closed_with_);
    JobQueue& queue = lane == Lane::Control ? jobs_.control : jobs_.application;
    const std::size_t bound =
        lane == Lane::Control ? bounds_.control_jobs : bounds_.application_jobs;
    if (queue.size() >= bound) return fail(lane_full(lane, bound));
    if (fault_strikes(gate_->faults(), "mailbox.lose")) return {};
    queue.push_back(std::move(job));
    to_submit = make_ready_locked(dropped);
    if (closed_with_) return fail(*closed_with_);
  }
  if (to_submit != nullptr) to_submit->submit();
  return {};
}

void Mailbox::hold() {
  std::lock_guard lock(mutex_);
  ++holds_;
}

void Mailbox::release_hold() {
  Gate* to_submit = nullptr;
  Jobs dropped;
  {
    std::lock_guard lock(mutex_);
    assert(holds_ > 0 && "release_hold() without a hold()");
    --holds_;
    to_submit = make_ready_locked(dropped);
  }
  if (to_submit != nullptr) to_submit->submit();
}

void Mailbox::claim(ClaimWaiter& waiter) {
  ClaimWaiter* granted = nullptr;
  {
    std::lock_guard lock(mutex_);
    waiter.next_claim_ = nullptr;
    ClaimWaiter** end = &first_claim_;
    while (*end != nullptr) end = &(*end)->next_claim_;
    *end = &waiter;
    granted = grant_claim_locked();
  }
  if (granted != nullptr) granted->on_claimed();
}

bool Mailbox::withdraw_claim(ClaimWaiter& waiter) {
  Gate* to_submit = nullptr;
  Jobs dropped;
  {
    std::lock_guard lock(mutex_);
    ClaimWaiter** link = &first_claim_;
    while (*link != nullptr && *link != &waiter) link = &(*link)->next_claim_;
    if (*link == nullptr) return false;
    *link = waiter.next_claim_;
    to_submit = make_ready_locked(dropped);
  }
  if (to_submit != nullptr) to_submit->submit();
  return true;
}

void Mailbox::release_claim() {
  ClaimWaiter* granted = nullptr;
  Gate* to_submit = nullptr;
  Jobs dropped;
  {
    std::lock_guard lock(mutex_);
    assert(is_claimed_ && "release_claim() without a claim");
    is_claimed_ = false;
    granted = grant_claim_locked();
    to_submit = make_ready_locked(dropped);
  }
  if (to_submit != nullptr) to_submit->submit();
  if (granted != nullptr) granted->on_claimed();
}

void Mailbox::move_to(Gate& gate) {
  Gate* to_submit = nullptr;
  Jobs dropped;
  Ref<Gate> left;
  bool is_let_go = false;
  {
    std::lock_guard lock(mutex_);
    assert(is_claimed_ && "a mailbox moves only under a claim");
    // Taken from the list by the former gate already: that gate passes it on in take_next().
    const bool was_listed = state_ == State::Ready && gate_->unlist_ready(*this);
    left = std::exchange(gate_, Ref<Gate>(&gate));
    if (was_listed) is_let_go = !list_locked(to_submit, dropped);
  }
  if (to_submit != nullptr) to_submit->submit();
  if (is_let_go) owner_.release_ref();
}

Gate& Mailbox::gate() const {
  std::lock_guard lock(mutex_);
  return *gate_;
}

void Mailbox::close(const Error& error) {
  Jobs waiting;
  bool is_let_go = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_with_) return;
    closed_with_ = std::make_unique<const Error>(error);
    waiting = std::exchange(jobs_, {});
    if (state_ == State::Ready) {
      // Taken from the list already: whoever took it lets go of the owner.
      is_let_go = gate_->unlist_ready(*this);
    }
    if (state_ != State::Running) state_ = State::Closed;
  }
  while (auto job = waiting.control.pop_front()) job->refuse(error);
  while (auto job = waiting.application.pop_front()) job->refuse(error);
  if (is_let_go) owner_.release_ref();
}

void Mailbox::abandon(const Error& error) {
  is_abandoned_.store(true);
  close(error);
}

Error Mailbox::closing_error() const {
  std::lock_guard lock(mutex_);
  return *closed_with_;
}

bool Mailbox::is_closed() const {
  std::lock_guard lock(mutex_);
  return closed_with_ != nullptr;
}

Mailbox::Backlog Mailbox::backlog() const {
  std::lock_guard lock(mutex_);
  return {.application = jobs_.application.size(),
          .control = jobs_.control.size(),
          .is_running = state_ == State::Running || left_turns_ != nullptr,
          .is_held = holds_ > 0,
          .is_claimed = is_claimed_};
}

bool Mailbox::is_idle() const {
  std::lock_guard lock(mutex_);
  return state_ == State::Idle && left_turns_ == nullptr && holds_ == 0 && !is_claimed_ &&
         first_claim_ == nullptr && jobs_.control.empty() && jobs_.application.empty();
}

std::optional<Mailbox::RunningTurn> Mailbox::oldest_turn() const {
  std::lock_guard lock(mutex_);
  std::optional<RunningTurn> oldest;
  if (state_ == State::Running) oldest = running_turn_;
  for (const LeftTurn* left = left_turns_; left != nullptr; left = left->next) {
    if (!oldest || left->turn.since < oldest->since) oldest = left->turn;
  }
  return oldest;
}

bool Mailbox::has_waiting(const std::function<bool(const Job&)>& is_it) const {
  std::lock_guard lock(mutex_);
  return jobs_.application.any_of(is_it);
}

std::unique_ptr<Job> Mailbox::take_next(Gate& taker, Instant now) {
  Gate* to_submit = nullptr;
  Jobs dropped;
  bool is_passed_on = false;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::Ready && gate_.get() != &taker) {
      is_passed_on = list_locked(to_submit, dropped);
    } else if (state_ == State::Ready && can_run_locked()) {
      state_ = State::Running;
      auto job = pop_job_locked();
      running_turn_ = {now, job->what()};
      return job;
    } else if (state_ == State::Ready) {
      state_ = State::Idle;
    }
  }
  if (to_submit != nullptr) to_submit->submit();
  if (!is_passed_on) owner_.release_ref();
  return nullptr;
}

bool Mailbox::finish_turn() {
  ClaimWaiter* granted = nullptr;
  {
    std::lock_guard lock(mutex_);
    assert(state_ == State::Running);
    state_ = closed_with_ ? State::Closed : State::Idle;
    granted = grant_claim_locked();
    if (state_ == State::Idle && can_run_locked()) {
      state_ = State::Ready;
      return true;
    }
  }
  if (granted != nullptr) granted->on_claimed();
  owner_.release_ref();
  return false;
}

std::unique_ptr<Job> Mailbox::finish_turn_and_take(Instant now) {
  ClaimWaiter* granted = nullptr;
  {
    std::lock_guard lock(mutex_);
    assert(state_ == State::Running);
    state_ = closed_with_ ? State::Closed : State::Idle;
    granted = grant_claim_locked();
    if (state_ == State::Idle && can_run_locked()) {
      state_ = State::Running;
      auto job = pop_job_locked();
      running_turn_ = {now, job->what()};
      return job;
    }
  }
  if (granted != nullptr) granted->on_claimed();
  owner_.release_ref();
  return nullptr;
}

Mailbox::Yielded Mailbox::yield_turn() {
  if (on_yield_ == OnYield::KeepMailbox) return {};
  auto* left = new LeftTurn;
  std::lock_guard lock(mutex_);
  assert(state_ == State::Running);
  left->turn = running_turn_;
  left->next = left_turns_;
  if (left_turns_ != nullptr) left_turns_->previous = left;
  left_turns_ = left;
  state_ = closed_with_ ? State::Closed : State::Idle;
  if (state_ == State::Closed || !can_run_locked()) return {.left = left, .is_ready = false};
  state_ = State::Ready;
  owner_.add_ref();
  return {.left = left, .is_ready = true};
}

void Mailbox::finish_left_turn(LeftTurn* left) {
  ClaimWaiter* granted = nullptr;
  {
    std::lock_guard lock(mutex_);
    (left->previous == nullptr ? left_turns_ : left->previous->next) = left->next;
    if (left->next != nullptr) left->next->previous = left->previous;
    granted = grant_claim_locked();
  }
  delete left;
  if (granted != nullptr) granted->on_claimed();
  owner_.release_ref();
}

void Mailbox::discard() {
  Jobs dropped;
  {
    std::lock_guard lock(mutex_);
    close_abandoned_locked(dropped);
  }
  dropped = {};
  owner_.release_ref();
}

ClaimWaiter* Mailbox::grant_claim_locked() {
  if (is_claimed_ || state_ == State::Running || left_turns_ != nullptr) return nullptr;
  if (first_claim_ == nullptr) return nullptr;
  is_claimed_ = true;
  return std::exchange(first_claim_, first_claim_->next_claim_);
}

bool Mailbox::is_held_locked() const {
  return holds_ > 0 && !fault_strikes(gate_->faults(), "mailbox.pass-barrier");
}

bool Mailbox::can_run_locked() const {
  if (is_claimed_) return false;
  return !jobs_.control.empty() || can_run_application_locked();
}

bool Mailbox::can_run_application_locked() const {
  return !is_held_locked() && first_claim_ == nullptr && !jobs_.application.empty();
}

std::unique_ptr<Job> Mailbox::pop_job_locked() {
  if (!can_run_application_locked()) {
    control_in_a_row_ = 0;
    return jobs_.control.pop_front();
  }
  if (!jobs_.control.empty() && control_in_a_row_ < limits::control_jobs_in_a_row) {
    ++control_in_a_row_;
    return jobs_.control.pop_front();
  }
  control_in_a_row_ = 0;
  if (fault_strikes(gate_->faults(), "mailbox.reorder")) {
    jobs_.application.push_back(jobs_.application.pop_front());
  }
  return jobs_.application.pop_front();
}

Gate* Mailbox::make_ready_locked(Jobs& dropped) {
  if (state_ != State::Idle || !can_run_locked()) return nullptr;
  Gate* to_submit = nullptr;
  state_ = State::Ready;
  owner_.add_ref();
  // The caller holds a reference of its own, so this is never the last one.
  if (!list_locked(to_submit, dropped)) owner_.release_ref();
  return to_submit;
}

bool Mailbox::list_locked(Gate*& to_submit, Jobs& dropped) {
  switch (gate_->list_ready(*this)) {
    case Gate::Listing::Listed:
      return true;
    case Gate::Listing::Submit:
      to_submit = gate_.get();
      return true;
    case Gate::Listing::Abandoned:
      break;
  }
  close_abandoned_locked(dropped);
  return false;
}

void Mailbox::close_abandoned_locked(Jobs& dropped) {
  if (!closed_with_) {
    closed_with_ = std::make_unique<const Error>(
        Error::unavailable("the node that ran this object has ended"));
  }
  state_ = State::Closed;
  dropped = std::exchange(jobs_, {});
}

}  // namespace spotmesh::runtime

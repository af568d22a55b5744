#include "stream/session_outbound.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "base/pool.hpp"
#include "runtime/gate.hpp"

namespace spotmesh::stream {
namespace {

// A pong waits while more than this stands unsent, so that pings cannot fill the backlog.
constexpr std::size_t pong_backlog_bytes = 16 * 1024;
// Of what a turn has said, room for so many frames is kept for the next.
constexpr std::size_t kept_frames = 2;

std::int64_t in_seconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

std::string does_not_read(std::size_t unsent_bytes) {
  return fmt::format("{} bytes wait for a client that does not read", unsent_bytes);
}

Error ended_error() { return Error::unavailable("the client's session has ended"); }

}  // namespace

// What one turn says to one client while another turn has the session's own place.
class SessionOutbound::Batch final : public runtime::Flushable {
 public:
  explicit Batch(SessionOutbound& outbound) : outbound_(outbound), owner_(&outbound.owner_) {}
  void flush() override { outbound_.flush(*this); }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

  Gathered gathered;

 private:
  SessionOutbound& outbound_;
  runtime::Ref<OutboundOwner> owner_;
};

SessionOutbound::SessionOutbound(OutboundOwner& owner, ClientLink& link,
                                 const runtime::Clock& clock, const StreamOptions& options,
                                 StreamMetrics& metrics)
    : owner_(owner),
      clock_(clock),
      most_unsent_bytes_(options.outbound_bytes),
      slow_reader_time_(options.slow_reader_time),
      outbound_age_(options.outbound_age),
      metrics_(metrics),
      link_(&link),
      perishable_(options.outbound_bytes, metrics) {}

SessionOutbound::~SessionOutbound() = default;

Result<void> SessionOutbound::push(SharedBytes frame) {
  return add(std::move(frame), {}, Bound::Turn);
}

Result<void> SessionOutbound::push(SharedBytes frame, const PerishablePush& perishable) {
  return add(std::move(frame), perishable, Bound::Turn);
}

bool SessionOutbound::answer(SharedBytes frame) {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) return add(std::move(frame), {}, Bound::None).has_value();
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return false;
    const bool is_first = own_turn_ == nullptr && batches_.empty();
    if (!is_first || turn->gate().may_hold_back() || !is_plain_locked()) {
      return add_locked(*turn, std::move(frame), {}, Bound::None).has_value();
    }
    findings = write_plain_locked({&frame, 1});
  }
  act_on(findings);
  return true;
}

void SessionOutbound::Said::add(SharedBytes frame, const std::optional<PerishablePush>& push) {
  if (push.has_value()) perishable.emplace_back(frames.size(), *push);
  frames.push_back(std::move(frame));
}

void SessionOutbound::Said::clear() {
  frames.clear();
  if (frames.capacity() > kept_frames) std::vector<SharedBytes>().swap(frames);
  if (perishable.capacity() > 0) decltype(perishable)().swap(perishable);
}

Result<void> SessionOutbound::add(SharedBytes frame,
                                  const std::optional<PerishablePush>& perishable, Bound bound) {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) {
    Findings findings;
    {
      std::lock_guard lock(mutex_);
      if (is_ended_locked()) return fail(ended_error());
      Said said;
      said.add(std::move(frame), perishable);
      findings = write_locked(said);
    }
    act_on(findings);
    return {};
  }
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return fail(ended_error());
  return add_locked(*turn, std::move(frame), perishable, bound);
}

Result<void> SessionOutbound::add_locked(runtime::Turn& turn, SharedBytes frame,
                                         const std::optional<PerishablePush>& perishable,
                                         Bound bound) {
  const auto [gathered, flushable] = place_of_locked(turn);
  if (bound == Bound::Turn && gathered.bytes >= 2 * most_unsent_bytes_) {
    return fail(Error::capacity_exceeded(
        fmt::format("one turn has pushed {} bytes to one client, which is the most; spread it over "
                    "several turns",
                    gathered.bytes)));
  }
  gathered.bytes += frame.size();
  gathered.said.add(std::move(frame), perishable);
  turn.flush_at_end(flushable);
  return {};
}

void SessionOutbound::close_at_turn_end(SessionEnding ending) {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) return owner_.on_close_due(std::move(ending));
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return;
  const auto [gathered, flushable] = place_of_locked(*turn);
  if (gathered.ending == nullptr) {
    gathered.ending = std::make_unique<SessionEnding>(std::move(ending));
  }
  turn->flush_at_end(flushable);
}

void SessionOutbound::pong(SharedBytes frame) {
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return;
    waiting_pong_ = std::move(frame);
    if (link_->unsent_bytes() > pong_backlog_bytes) return;
    Said nothing;
    findings = write_locked(nothing);
  }
  act_on(findings);
}

void SessionOutbound::write_now(SharedBytes frame) {
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return;
    Said said;
    said.add(std::move(frame), {});
    findings = write_locked(said);
  }
  act_on(findings);
}

void SessionOutbound::finish(SharedBytes close_frame) {
  decltype(batches_) dropped;
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return;
  is_finished_ = true;
  dropped.swap(batches_);
  drop_own_locked();
  perishable_.clear();
  hand_over_locked({&close_frame, 1});
  link_->close_after_flush();
}

void SessionOutbound::abort() {
  std::lock_guard lock(mutex_);
  if (link_ != nullptr) link_->abort();
}

std::size_t SessionOutbound::unsent_bytes() const {
  const std::lock_guard lock(mutex_);
  return link_ == nullptr ? 0 : link_->unsent_bytes();
}

void SessionOutbound::link_gone() {
  decltype(batches_) dropped;
  std::lock_guard lock(mutex_);
  link_ = nullptr;
  dropped.swap(batches_);
  drop_own_locked();
}

void SessionOutbound::drop_own_locked() {
  own_turn_ = nullptr;
  own_ = {};
}

void SessionOutbound::on_drained() {
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return;
  over_since_.reset();
  Said nothing;
  auto released = choose_locked(nothing, link_->unsent_bytes());
  hand_over_locked(released);
}

std::optional<Instant> SessionOutbound::check(Instant now) {
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return std::nullopt;
    const std::size_t unsent_bytes = link_->unsent_bytes();
    if (is_slow_locked(unsent_bytes, now)) {
      findings.slowness = does_not_read(unsent_bytes);
    } else if (is_old_locked(unsent_bytes, now)) {
      findings.slowness = fmt::format("the client has not read for {} s, and {} bytes wait for it",
                                      in_seconds(now - mark_->at), unsent_bytes);
    }
    Said nothing;
    auto released = choose_locked(nothing, unsent_bytes);
    hand_over_locked(released);
    if (over_since_.has_value()) findings.check_at = *over_since_ + slow_reader_time_;
    if (mark_.has_value()) {
      const Instant old_at = mark_->at + outbound_age_;
      findings.check_at =
          findings.check_at.has_value() ? std::min(*findings.check_at, old_at) : old_at;
    }
  }
  if (findings.slowness.has_value()) {
    owner_.on_slow_reader(*std::move(findings.slowness));
    return std::nullopt;
  }
  return findings.check_at;
}

// A place whose flush is held stands there beyond its turn, whose address another may have taken.
SessionOutbound::Place SessionOutbound::place_of_locked(const runtime::Turn& turn) {
  if (own_turn_ == nullptr)
    own_turn_ = &turn;
  else if (own_turn_ != &turn || !owner_.is_listed_by(turn))
    return batch_of_locked(turn);
  return {own_, owner_};
}

SessionOutbound::Place SessionOutbound::batch_of_locked(const runtime::Turn& turn) {
  const auto found = std::ranges::find_if(batches_, [&](const auto& each) {
    return each.first == &turn && each.second->is_listed_by(turn);
  });
  if (found != batches_.end()) return {found->second->gathered, *found->second};
  batches_.emplace_back(&turn, runtime::make_ref<Batch>(*this));
  Batch& batch = *batches_.back().second;
  return {batch.gathered, batch};
}

void SessionOutbound::flush_own() {
  Findings findings;
  std::unique_ptr<SessionEnding> ending;
  {
    std::lock_guard lock(mutex_);
    if (own_turn_ == nullptr) return;  // the session has ended
    own_turn_ = nullptr;
    own_.bytes = 0;
    ending = std::move(own_.ending);
    if (!own_.said.frames.empty()) findings = write_locked(own_.said);
    own_.said.clear();
  }
  act_on(findings);
  if (ending != nullptr) owner_.on_close_due(std::move(*ending));
}

void SessionOutbound::flush(Batch& batch) {
  runtime::Ref<Batch> flushed;
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        batches_, [&](const auto& each) { return each.second.get() == &batch; });
    if (found == batches_.end()) return;  // the session has ended
    flushed = std::move(found->second);
    batches_.erase(found);
    if (!batch.gathered.said.frames.empty()) findings = write_locked(batch.gathered.said);
  }
  act_on(findings);
  if (batch.gathered.ending != nullptr) owner_.on_close_due(std::move(*batch.gathered.ending));
}

SessionOutbound::Findings SessionOutbound::write_locked(Said& said) {
  if (said.perishable.empty() && is_plain_locked()) return write_plain_locked(said.frames);
  Findings findings;
  const std::size_t unsent_bytes = link_->unsent_bytes();
  if (is_slow_now_locked(unsent_bytes, findings)) return findings;
  auto chosen = choose_locked(said, unsent_bytes);
  note_added_locked(unsent_bytes, hand_over_locked(chosen), findings);
  return findings;
}

SessionOutbound::Findings SessionOutbound::write_plain_locked(std::span<SharedBytes> frames) {
  Findings findings;
  const std::size_t unsent_bytes = link_->unsent_bytes();
  if (is_slow_now_locked(unsent_bytes, findings)) return findings;
  note_added_locked(unsent_bytes, hand_over_locked(frames), findings);
  return findings;
}

bool SessionOutbound::is_slow_now_locked(std::size_t unsent_bytes, Findings& findings) {
  if (unsent_bytes <= most_unsent_bytes_) {
    over_since_.reset();
    return false;
  }
  if (unsent_bytes < 2 * most_unsent_bytes_ && !is_slow_locked(unsent_bytes, clock_.now())) {
    return false;
  }
  findings.slowness = does_not_read(unsent_bytes);
  return true;
}

void SessionOutbound::note_added_locked(std::size_t unsent_bytes, std::size_t added,
                                        Findings& findings) {
  if (unsent_bytes + added <= most_unsent_bytes_ || over_since_.has_value()) return;
  if (link_->unsent_bytes() <= most_unsent_bytes_) return;
  over_since_ = clock_.now();
  findings.check_at = *over_since_ + slow_reader_time_;
}

std::vector<SharedBytes> SessionOutbound::choose_locked(Said& said, std::size_t unsent_bytes) {
  const bool is_backlog = unsent_bytes > link_backlog_bytes;
  const bool is_held = is_backlog && !said.perishable.empty();
  const bool is_released = !is_backlog && !perishable_.empty();
  std::vector<SharedBytes> chosen;
  if (!is_held && !is_released) {
    chosen = std::move(said.frames);
  } else {
    if (is_released) perishable_.take(clock_.now(), chosen);
    auto next = said.perishable.begin();
    for (std::size_t index = 0; index < said.frames.size(); ++index) {
      SharedBytes& frame = said.frames[index];
      if (is_held && next != said.perishable.end() && next->first == index) {
        perishable_.keep((next++)->second, std::move(frame), clock_.now(), chosen);
      } else {
        chosen.push_back(std::move(frame));
      }
    }
  }
  take_pong_locked(chosen, unsent_bytes);
  return chosen;
}

std::size_t SessionOutbound::hand_over_locked(std::span<SharedBytes> frames) {
  if (frames.empty()) return 0;
  std::size_t bytes = 0;
  for (const SharedBytes& frame : frames) bytes += frame.size();
  handed_over_bytes_ += static_cast<std::int64_t>(bytes);
  metrics_.bytes_out.add(static_cast<std::int64_t>(bytes));
  link_->send_batch(frames);
  return bytes;
}

bool SessionOutbound::is_slow_locked(std::size_t unsent_bytes, Instant now) {
  if (unsent_bytes <= most_unsent_bytes_) {
    over_since_.reset();
    return false;
  }
  if (!over_since_.has_value()) over_since_ = now;
  return now - *over_since_ >= slow_reader_time_;
}

// One mark tells enough: when all that was handed over before it has been sent, the next is made.
bool SessionOutbound::is_old_locked(std::size_t unsent_bytes, Instant now) {
  const std::int64_t sent_bytes = handed_over_bytes_ - static_cast<std::int64_t>(unsent_bytes);
  if (mark_.has_value() && sent_bytes < mark_->bytes) return now - mark_->at >= outbound_age_;
  mark_.reset();
  if (unsent_bytes > 0) mark_ = Mark{handed_over_bytes_, now};
  return false;
}

void SessionOutbound::take_pong_locked(std::vector<SharedBytes>& frames, std::size_t unsent_bytes) {
  if (waiting_pong_.empty() || unsent_bytes > pong_backlog_bytes) return;
  frames.push_back(std::exchange(waiting_pong_, {}));
}

void SessionOutbound::act_on(const Findings& findings) {
  if (findings.slowness.has_value()) owner_.on_slow_reader(*findings.slowness);
  if (findings.check_at.has_value()) owner_.on_check_due(*findings.check_at);
}

}  // namespace spotmesh::stream

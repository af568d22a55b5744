#include "stream/session_outbound.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/pool.hpp"

namespace spotmesh::stream {
namespace {

// A pong waits while more than this stands unsent, so that pings cannot fill the backlog.
constexpr std::size_t pong_backlog_bytes = 16 * 1024;

Error ended_error() { return Error::unavailable("the client's session has ended"); }

}  // namespace

// What one turn says to one client.
class SessionOutbound::Batch final : public runtime::Flushable {
 public:
  explicit Batch(SessionOutbound& outbound) : outbound_(outbound), owner_(&outbound.owner_) {}
  void flush() override { outbound_.flush(*this); }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

  std::vector<SharedBytes> frames;
  std::size_t bytes = 0;
  std::optional<SessionEnding> ending;

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
      metrics_(metrics),
      link_(&link) {}

SessionOutbound::~SessionOutbound() = default;

Result<void> SessionOutbound::push(SharedBytes frame) { return add(std::move(frame), Bound::Turn); }

bool SessionOutbound::answer(SharedBytes frame) {
  return add(std::move(frame), Bound::None).has_value();
}

Result<void> SessionOutbound::add(SharedBytes frame, Bound bound) {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) {
    Findings findings;
    {
      std::lock_guard lock(mutex_);
      if (is_ended_locked()) return fail(ended_error());
      std::vector<SharedBytes> frames;
      frames.push_back(std::move(frame));
      findings = write_locked(std::move(frames));
    }
    act_on(findings);
    return {};
  }
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return fail(ended_error());
  Batch& batch = batch_of_locked(*turn);
  if (bound == Bound::Turn && batch.bytes >= 2 * most_unsent_bytes_) {
    return fail(Error::capacity_exceeded(
        fmt::format("one turn has pushed {} bytes to one client, which is the most; spread it over "
                    "several turns",
                    batch.bytes)));
  }
  batch.bytes += frame.size();
  batch.frames.push_back(std::move(frame));
  turn->flush_at_end(batch);
  return {};
}

void SessionOutbound::close_at_turn_end(SessionEnding ending) {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) return owner_.on_close_due(std::move(ending));
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return;
  Batch& batch = batch_of_locked(*turn);
  if (!batch.ending.has_value()) batch.ending = std::move(ending);
  turn->flush_at_end(batch);
}

void SessionOutbound::pong(SharedBytes frame) {
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return;
    waiting_pong_ = std::move(frame);
    std::vector<SharedBytes> frames;
    take_pong_locked(frames, link_->unsent_bytes());
    if (frames.empty()) return;
    findings = write_locked(std::move(frames));
  }
  act_on(findings);
}

void SessionOutbound::write_now(SharedBytes frame) {
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return;
    findings = write_locked({std::move(frame)});
  }
  act_on(findings);
}

void SessionOutbound::finish(SharedBytes close_frame) {
  decltype(batches_) dropped;
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return;
  is_finished_ = true;
  dropped.swap(batches_);
  metrics_.bytes_out.add(static_cast<std::int64_t>(close_frame.size()));
  link_->send({std::move(close_frame)});
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
}

void SessionOutbound::on_drained() {
  std::lock_guard lock(mutex_);
  if (is_ended_locked()) return;
  over_since_.reset();
  std::vector<SharedBytes> frames;
  take_pong_locked(frames, 0);
  if (!frames.empty()) link_->send(std::move(frames));
}

std::optional<Instant> SessionOutbound::check(Instant now) {
  Findings findings;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_locked()) return std::nullopt;
    findings.unsent_bytes = link_->unsent_bytes();
    findings.is_slow = is_slow_locked(findings.unsent_bytes, now);
    std::vector<SharedBytes> frames;
    take_pong_locked(frames, findings.unsent_bytes);
    if (!frames.empty()) link_->send(std::move(frames));
    if (!findings.is_slow && over_since_.has_value()) {
      findings.check_at = *over_since_ + slow_reader_time_;
    }
  }
  if (findings.is_slow) owner_.on_slow_reader(findings.unsent_bytes);
  return findings.check_at;
}

SessionOutbound::Batch& SessionOutbound::batch_of_locked(const runtime::Turn& turn) {
  // A batch whose flush is held stands there beyond its turn, whose place another may have taken.
  const auto found = std::ranges::find_if(batches_, [&](const auto& each) {
    return each.first == &turn && each.second->is_listed_by(turn);
  });
  if (found != batches_.end()) return *found->second;
  batches_.emplace_back(&turn, runtime::make_ref<Batch>(*this));
  return *batches_.back().second;
}

void SessionOutbound::flush(Batch& batch) {
  runtime::Ref<Batch> flushed;
  Findings findings;
  std::optional<SessionEnding> ending;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        batches_, [&](const auto& each) { return each.second.get() == &batch; });
    if (found == batches_.end()) return;  // the session has ended
    flushed = std::move(found->second);
    batches_.erase(found);
    ending = std::move(batch.ending);
    if (!batch.frames.empty()) findings = write_locked(std::move(batch.frames));
  }
  act_on(findings);
  if (ending.has_value()) owner_.on_close_due(*std::move(ending));
}

SessionOutbound::Findings SessionOutbound::write_locked(std::vector<SharedBytes> frames) {
  Findings findings;
  findings.unsent_bytes = link_->unsent_bytes();
  const bool is_over = findings.unsent_bytes > most_unsent_bytes_;
  if (findings.unsent_bytes >= 2 * most_unsent_bytes_ ||
      (is_over && is_slow_locked(findings.unsent_bytes, clock_.now()))) {
    findings.is_slow = true;
    return findings;
  }
  if (!is_over) over_since_.reset();
  take_pong_locked(frames, findings.unsent_bytes);
  for (const SharedBytes& frame : frames) {
    metrics_.bytes_out.add(static_cast<std::int64_t>(frame.size()));
  }
  link_->send(std::move(frames));
  if (!over_since_.has_value() && link_->unsent_bytes() > most_unsent_bytes_) {
    over_since_ = clock_.now();
    findings.check_at = *over_since_ + slow_reader_time_;
  }
  return findings;
}

bool SessionOutbound::is_slow_locked(std::size_t unsent_bytes, Instant now) {
  if (unsent_bytes <= most_unsent_bytes_) {
    over_since_.reset();
    return false;
  }
  if (!over_since_.has_value()) over_since_ = now;
  return now - *over_since_ >= slow_reader_time_;
}

void SessionOutbound::take_pong_locked(std::vector<SharedBytes>& frames, std::size_t unsent_bytes) {
  if (waiting_pong_.empty() || unsent_bytes > pong_backlog_bytes) return;
  frames.push_back(std::exchange(waiting_pong_, {}));
}

void SessionOutbound::act_on(const Findings& findings) {
  if (findings.is_slow) owner_.on_slow_reader(findings.unsent_bytes);
  if (findings.check_at.has_value()) owner_.on_check_due(*findings.check_at);
}

}  // namespace spotmesh::stream

// ClientSession: everything that happens because time has passed. One timer stands for all.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "stream/client_session.hpp"

namespace spotmesh::stream {

using runtime::Ref;

namespace {

std::int64_t in_seconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

void ClientSession::Timer::on_timer(Instant) {
  session_.gateway().seams.strand.post([session = Ref(&session_)] { session->check_deadlines(); });
}

void ClientSession::check_deadlines() {
  const Instant now = gateway_->seams.clock.now();
  if (reader_.held_back_until().has_value()) reader_.resume();
  expire_requests(now);
  check_replaced(now);
  check_heartbeat(now);
  {
    std::lock_guard lock(mutex_);
    outbound_check_at_.reset();
  }
  if (const auto again = outbound_.check(now)) on_check_due(*again);
  rearm(now);
}

void ClientSession::expire_requests(Instant now) {
  while (true) {
    std::optional<wire::RequestSeq> expired;
    {
      std::lock_guard lock(mutex_);
      if (life_.is_live()) expired = requests_.take_expired(now);
    }
    if (!expired.has_value()) return;
    gateway_->metrics.expired_requests.add();
    send_reply(
        *expired,
        fail(Error::deadline_exceeded(fmt::format("the request had no answer for {} s",
                                                  in_seconds(gateway_->options.request_timeout)))));
  }
}

void ClientSession::check_replaced(Instant now) {
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    if (!replaced_close_at_.has_value() || *replaced_close_at_ > now) return;
    reason = replaced_reason_;
  }
  close(SessionEnding::replaced(std::move(reason)));
}

void ClientSession::check_heartbeat(Instant now) {
  const Duration interval = gateway_->options.heartbeat_interval;
  if (reader_.is_paused()) return ping_unheard(now, interval);
  const Instant heard = reader_.last_heard();
  const auto partial_since = reader_.partial_since();
  if (partial_since.has_value() && now - *partial_since >= 2 * interval) {
    return close(SessionEnding::unresponsive(fmt::format(
        "a message that began {} s ago has not ended", in_seconds(now - *partial_since))));
  }
  if (now - heard >= 2 * interval) {
    return close(SessionEnding::unresponsive(
        fmt::format("nothing was heard of the client for {} s", in_seconds(now - heard))));
  }
  if (now - heard < interval) return;
  {
    std::lock_guard lock(mutex_);
    if (pinged_after_ == heard) return;
    pinged_after_ = heard;
  }
  outbound_.write_now(protocol_->encode_ping());
}

// A client that is not read cannot be heard, nor can its end be seen. What is sent to one that has
// gone comes back as the connection's failure, so that its place is free again.
void ClientSession::ping_unheard(Instant now, Duration interval) {
  {
    std::lock_guard lock(mutex_);
    if (now - pinged_unheard_at_ < interval) return;
    pinged_unheard_at_ = now;
  }
  outbound_.write_now(protocol_->encode_ping());
}

void ClientSession::rearm(Instant now) {
  const Duration interval = gateway_->options.heartbeat_interval;
  const Instant heard = reader_.is_paused() ? now : reader_.last_heard();
  const auto partial_since = reader_.partial_since();
  std::lock_guard lock(mutex_);
  armed_for_.reset();
  arm_locked(heard + (pinged_after_ == heard ? 2 : 1) * interval);
  if (partial_since.has_value()) arm_locked(*partial_since + 2 * interval);
  if (const auto held_back = reader_.held_back_until()) arm_locked(*held_back);
  if (outbound_check_at_.has_value()) arm_locked(*outbound_check_at_);
  if (replaced_close_at_.has_value()) arm_locked(*replaced_close_at_);
  if (const auto deadline = requests_.next_deadline()) arm_locked(*deadline);
}

// Only moves the timer forward: what is due later is found when it fires.
void ClientSession::arm_locked(Instant when) {
  if (!life_.is_live() || (armed_for_.has_value() && *armed_for_ <= when)) return;
  armed_for_ = when;
  gateway_->seams.timers.arm(timer_, when);
}

// Kept, as it may come while the timer is about to be armed for something later.
void ClientSession::on_check_due(Instant when) {
  std::lock_guard lock(mutex_);
  outbound_check_at_ = std::min(when, outbound_check_at_.value_or(when));
  arm_locked(when);
}

}  // namespace spotmesh::stream

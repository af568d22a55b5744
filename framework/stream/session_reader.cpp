#include "stream/session_reader.hpp"

#include <mutex>
#include <utility>

namespace spotmesh::stream {

SessionReader::SessionReader(ReaderListener& listener, SessionProtocol& protocol, ClientLink& link,
                             const runtime::Clock& clock, const StreamOptions& options,
                             StreamMetrics& metrics)
    : listener_(listener),
      protocol_(protocol),
      clock_(clock),
      metrics_(metrics),
      link_(&link),
      quota_(options),
      last_heard_(clock.now().since_origin.count()) {}

void SessionReader::on_bytes(ByteView bytes) {
  std::lock_guard lock(mutex_);
  if (is_stopped_.load()) return;
  metrics_.bytes_in.add(static_cast<std::int64_t>(bytes.size()));
  const Instant now = clock_.now();
  note_heard(now);
  quota_.take_bytes(bytes.size(), now);
  if (is_paused_.load()) {
    leftover_.insert(leftover_.end(), bytes.begin(), bytes.end());
  } else {
    read_locked(bytes);
  }
}

void SessionReader::resume() {
  if (!is_paused_.load()) return;
  std::lock_guard lock(mutex_);
  if (!is_paused_.load() || is_stopped_.load() || link_ == nullptr) return;
  const Instant now = clock_.now();
  if (const auto until = held_back_until(); until.has_value()) {
    if (now < *until) return;
    held_back_until_.store(never, std::memory_order_relaxed);
    if (!quota_.release(now)) return listener_.on_over_quota(quota_.breach());
  }
  // Said first, then looked: whoever makes room now sees it, or is seen.
  waits_for_listener_.store(true);
  if (!listener_.can_resume()) return;
  const Bytes left = std::exchange(leftover_, {});
  waits_for_listener_.store(false);
  is_paused_.store(false);
  note_heard(now);
  read_locked(left);
  if (!is_paused_.load() && !is_stopped_.load()) link_->resume_reading();
}

void SessionReader::link_gone() {
  stop();
  std::lock_guard lock(mutex_);
  link_ = nullptr;
  leftover_ = {};
}

void SessionReader::read_locked(ByteView input) {
  while (!decode_locked(input)) {
    if (!must_wait_locked()) continue;
    leftover_.assign(input.begin(), input.end());
    metrics_.reading_paused.add();
    if (link_ != nullptr) link_->pause_reading();
    return;
  }
}

bool SessionReader::must_wait_locked() {
  is_paused_.store(true);
  if (const Instant now = last_heard(); !quota_.has_room(now)) {
    const Instant until = quota_.hold(now);
    held_back_until_.store(until.since_origin.count(), std::memory_order_relaxed);
    metrics_.held_back.add();
    listener_.on_held_back(until);
    return true;
  }
  // Said first, then looked again: whoever makes room now sees the pause, or is seen.
  waits_for_listener_.store(true);
  if (!listener_.can_take()) return true;
  waits_for_listener_.store(false);
  is_paused_.store(false);
  return false;
}

bool SessionReader::decode_locked(ByteView& input) {
  const Instant now = last_heard();
  bool has_ended_one = false;
  bool is_used_up = false;
  std::int64_t requests = 0;
  std::int64_t one_ways = 0;
  while (!is_stopped_.load() && listener_.can_take() && quota_.has_room(now)) {
    InboundEvent event = protocol_.next(input);
    if (event.kind == InboundEvent::Kind::NeedMoreBytes) {
      is_used_up = true;
      break;
    }
    quota_.take_message(now);
    if (event.kind == InboundEvent::Kind::Ping) {
      ping_.emplace(event.payload.begin(), event.payload.end());
      continue;
    }
    if (event.kind == InboundEvent::Kind::Packet || event.kind == InboundEvent::Kind::Refused) {
      has_ended_one = true;
      ++(event.seq.is_one_way() ? one_ways : requests);
    }
    listener_.on_event(std::move(event));
  }
  if (requests > 0) metrics_.requests_in.add(requests);
  if (one_ways > 0) metrics_.one_way_in.add(one_ways);
  note_partial_locked(has_ended_one);
  answer_ping_locked();
  return is_used_up || is_stopped_.load();
}

void SessionReader::answer_ping_locked() {
  if (const auto ping = std::exchange(ping_, std::nullopt)) listener_.on_ping(*ping);
}

// Control frames between the fragments of a message do not make it younger.
void SessionReader::note_partial_locked(bool has_ended_one) {
  if (!protocol_.has_partial_message()) {
    partial_since_.store(never, std::memory_order_relaxed);
  } else if (has_ended_one || partial_since_.load(std::memory_order_relaxed) == never) {
    partial_since_.store(last_heard_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

}  // namespace spotmesh::stream

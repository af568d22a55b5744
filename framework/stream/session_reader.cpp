#include "stream/session_reader.hpp"

#include <utility>

namespace spotmesh::stream {

SessionReader::SessionReader(ReaderListener& listener, SessionProtocol& protocol, ClientLink& link,
                             const runtime::Clock& clock, StreamMetrics& metrics)
    : listener_(listener),
      protocol_(protocol),
      clock_(clock),
      metrics_(metrics),
      link_(&link),
      last_heard_(clock.now().since_origin.count()) {}

void SessionReader::on_bytes(ByteView bytes) {
  std::lock_guard lock(mutex_);
  if (is_stopped_.load()) return;
  metrics_.bytes_in.add(static_cast<std::int64_t>(bytes.size()));
  note_heard(clock_.now());
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
  if (!listener_.can_resume()) return;
  const Bytes left = std::exchange(leftover_, {});
  is_paused_.store(false);
  note_heard(clock_.now());
  read_locked(left);
  if (!is_paused_.load() && !is_stopped_.load()) link_->resume_reading();
}

void SessionReader::link_gone() {
  stop();
  std::lock_guard lock(mutex_);
  link_ = nullptr;
  leftover_ = {};
}

std::optional<Instant> SessionReader::partial_since() const {
  const Duration::rep since = partial_since_.load(std::memory_order_relaxed);
  if (since == never) return std::nullopt;
  return Instant{Duration(since)};
}

void SessionReader::read_locked(ByteView input) {
  while (!decode_locked(input)) {
    // Said first, then looked again: whoever makes room now sees the pause, or is seen.
    is_paused_.store(true);
    if (!listener_.can_take()) {
      leftover_.assign(input.begin(), input.end());
      metrics_.reading_paused.add();
      if (link_ != nullptr) link_->pause_reading();
      return;
    }
    is_paused_.store(false);
  }
}

bool SessionReader::decode_locked(ByteView& input) {
  bool has_ended_one = false;
  bool is_used_up = false;
  while (!is_stopped_.load() && listener_.can_take()) {
    InboundEvent event = protocol_.next(input);
    if (event.kind == InboundEvent::Kind::NeedMoreBytes) {
      is_used_up = true;
      break;
    }
    if (event.kind == InboundEvent::Kind::Ping) {
      ping_.emplace(event.payload.begin(), event.payload.end());
      continue;
    }
    has_ended_one = has_ended_one || event.kind == InboundEvent::Kind::Packet ||
                    event.kind == InboundEvent::Kind::Refused;
    listener_.on_event(std::move(event));
  }
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

// SessionReader: the bytes of one client, decoded as far as the session can take what comes out.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <spotmesh/bytes.hpp>
#include <spotmesh/time.hpp>

#include "base/small_mutex.hpp"
#include "runtime/clock.hpp"
#include "stream/client_links.hpp"
#include "stream/inbound_quota.hpp"
#include "stream/session_protocol.hpp"
#include "stream/stream_metrics.hpp"
#include "stream/stream_options.hpp"

namespace spotmesh::stream {

// Hears what the client said, one call at a time, under the reader's lock.
class ReaderListener {
 public:
  virtual ~ReaderListener() = default;
  // Whether one more packet can be queued. Any thread.
  virtual bool can_take() const = 0;
  // Whether it is worth going on after a pause. Any thread.
  virtual bool can_resume() const = 0;
  // Not of kind NeedMoreBytes or Ping.
  virtual void on_event(InboundEvent event) = 0;
  // The newest of the pings that came together.
  virtual void on_ping(ByteView payload) = 0;
  // The client has used up its quota and is not read; resume() is to be called at that moment.
  virtual void on_held_back(Instant until) = 0;
  // It goes on and on sending more than its quota.
  virtual void on_over_quota(std::string reason) = 0;
};

// Stops between two messages when the listener has no room or the client has used up its quota,
// keeps the bytes that have come, pauses the link, and goes on from there when resume() finds room:
// nothing is lost or reordered.
class SessionReader {
 public:
  // All of it outlives this object, `link` until link_gone().
  SessionReader(ReaderListener& listener, SessionProtocol& protocol, ClientLink& link,
                const runtime::Clock& clock, const StreamOptions& options, StreamMetrics& metrics);

  void on_bytes(ByteView bytes);
  // Room may have come up. Any thread; cheap when reading is not paused.
  void resume();
  // Nothing is read from now on. Any thread, also from within the listener.
  void stop() { is_stopped_.store(true); }
  // Waits for a resume() that is under way; the link is not touched any more.
  void link_gone();

  bool is_paused() const { return is_paused_.load(); }
  // It is for want of room at the listener, and so for resume() to be called when there is some.
  bool waits_for_listener() const { return waits_for_listener_.load(); }
  // Until when the client is not read because it has used up its quota.
  std::optional<Instant> held_back_until() const { return instant_of(held_back_until_); }
  // When the client was last heard; while reading is paused nobody listens.
  Instant last_heard() const { return {Duration(last_heard_.load(std::memory_order_relaxed))}; }
  // When the message that has not ended yet began.
  std::optional<Instant> partial_since() const { return instant_of(partial_since_); }

 private:
  static constexpr Duration::rep never = -1;

  static std::optional<Instant> instant_of(const std::atomic<Duration::rep>& time) {
    const Duration::rep at = time.load(std::memory_order_relaxed);
    return at == never ? std::nullopt : std::optional(Instant{Duration(at)});
  }

  void note_heard(Instant now) {
    last_heard_.store(now.since_origin.count(), std::memory_order_relaxed);
  }
  void read_locked(ByteView input);
  // True when the input is used up, false when the listener or the quota has no room.
  bool decode_locked(ByteView& input);
  // Whether there is no room now, looked at again after it was said that reading is paused.
  bool must_wait_locked();
  void answer_ping_locked();
  void note_partial_locked(bool has_ended_one);

  ReaderListener& listener_;
  SessionProtocol& protocol_;
  const runtime::Clock& clock_;
  StreamMetrics& metrics_;

  SmallMutex mutex_;
  ClientLink* link_;
  InboundQuota quota_;
  Bytes leftover_;  // has come and waits while reading is paused
  std::optional<Bytes> ping_;
  std::atomic<bool> is_paused_{false};
  std::atomic<bool> waits_for_listener_{false};
  std::atomic<Duration::rep> held_back_until_{never};
  std::atomic<bool> is_stopped_{false};
  std::atomic<Duration::rep> last_heard_;
  std::atomic<Duration::rep> partial_since_{never};
};

}  // namespace spotmesh::stream

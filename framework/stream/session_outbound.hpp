// SessionOutbound: what a session says to its client, gathered per turn and bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/small_mutex.hpp"
#include "runtime/clock.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/turn.hpp"
#include "stream/client_links.hpp"
#include "stream/perishable_frames.hpp"
#include "stream/session_ending.hpp"
#include "stream/stream_metrics.hpp"
#include "stream/stream_options.hpp"

namespace spotmesh::stream {

// The session whose outbound side this is; its flush() is SessionOutbound::flush_own(). Calls come
// on any thread, under no lock of it.
class OutboundOwner : public runtime::Flushable {
 public:
  // The client has not read for too long, or has left too much standing.
  virtual void on_slow_reader(std::string reason) = 0;
  // A turn that asked for the end has ended.
  virtual void on_close_due(SessionEnding ending) = 0;
  // check() is to be called at that moment.
  virtual void on_check_due(Instant when) = 0;
};

// Any thread. What is said on a turn leaves when that turn ends or waits, as one batch per turn:
// turns whose end is held back by Admission hold back what they said and nothing else. What is said
// outside a turn leaves at once.
//
// A client is slow when more than StreamOptions::outbound_bytes have stood unsent for
// slow_reader_time, when twice as many stand unsent as something is to be added, or when any byte
// has stood unsent for outbound_age. What one turn says does not count before it was handed to the
// link, so a burst makes nobody slow.
class SessionOutbound {
 public:
  // All of it outlives this object, `link` until link_gone().
  SessionOutbound(OutboundOwner& owner, ClientLink& link, const runtime::Clock& clock,
                  const StreamOptions& options, StreamMetrics& metrics);
  ~SessionOutbound();

  // Unavailable when the session has ended; CapacityExceeded when this turn has said too much to
  // this client already.
  Result<void> push(SharedBytes frame);
  // The same, of a push that may be missed: while a backlog stands it waits here, where newer ones
  // take its place and time drops it, and others overtake it.
  Result<void> push(SharedBytes frame, const PerishablePush& perishable);
  // Replies are few (RequestTable), so the turn's bound does not hold for them. A turn that nothing
  // can hold back gives its reply to the link at once, if it has said nothing before. False when
  // the session has ended.
  bool answer(SharedBytes frame);
  // The owner's on_close_due() when the present turn ends or waits; at once outside a turn.
  void close_at_turn_end(SessionEnding ending);
  // What the turn has said that used the session's own place leaves.
  void flush_own();
  // At once. While much stands unsent the pong waits, and only the newest one is kept.
  void pong(SharedBytes frame);
  void write_now(SharedBytes frame);

  // The last words: writes the frame, then the link closes. Drops what turns have gathered.
  void finish(SharedBytes close_frame);
  void abort();
  // The link has ended and is not touched any more.
  void link_gone();

  // What the link has been given and has not got rid of.
  std::size_t unsent_bytes() const;

  // The backlog has drained.
  void on_drained();
  // Looks at the backlog; what on_check_due() asked for. When to look again, if at all.
  std::optional<Instant> check(Instant now);

 private:
  class Batch;
  // Frames in their order, and which of them may be missed.
  struct Said {
    std::vector<SharedBytes> frames;
    std::vector<std::pair<std::size_t, PerishablePush>> perishable;  // by index into `frames`
    void add(SharedBytes frame, const std::optional<PerishablePush>& push);
    void clear();
  };
  // Of one turn.
  struct Gathered {
    Said said;
    std::size_t bytes = 0;
    std::unique_ptr<SessionEnding> ending;
  };
  // Where a turn gathers, and what flushes it at its end.
  struct Place {
    Gathered& gathered;
    runtime::Flushable& flushable;
  };
  enum class Bound : bool { None, Turn };
  // What a write has shown, to be acted on when the lock is let go of.
  struct Findings {
    std::optional<std::string> slowness;  // why the client is slow
    std::optional<Instant> check_at;
  };
  // All that had been handed to the link at a moment.
  struct Mark {
    std::int64_t bytes = 0;
    Instant at;
  };

  Result<void> add(SharedBytes frame, const std::optional<PerishablePush>& perishable, Bound bound);
  Result<void> add_locked(runtime::Turn& turn, SharedBytes frame,
                          const std::optional<PerishablePush>& perishable, Bound bound);
  bool is_ended_locked() const { return link_ == nullptr || is_finished_; }
  Place place_of_locked(const runtime::Turn& turn);
  Place batch_of_locked(const runtime::Turn& turn);
  void flush(Batch& batch);
  Findings write_locked(Said& said);
  Findings write_plain_locked(std::span<SharedBytes> frames);
  // Whether nothing waits that goes before or after what is written, or would be chosen from it.
  bool is_plain_locked() const { return perishable_.empty() && waiting_pong_.empty(); }
  bool is_slow_now_locked(std::size_t unsent_bytes, Findings& findings);
  void note_added_locked(std::size_t unsent_bytes, std::size_t added, Findings& findings);
  // What is to be handed over now of what waits and is new.
  std::vector<SharedBytes> choose_locked(Said& said, std::size_t unsent_bytes);
  // Returns how many bytes it is.
  std::size_t hand_over_locked(std::span<SharedBytes> frames);
  void drop_own_locked();
  bool is_slow_locked(std::size_t unsent_bytes, Instant now);
  bool is_old_locked(std::size_t unsent_bytes, Instant now);
  void take_pong_locked(std::vector<SharedBytes>& frames, std::size_t unsent_bytes);
  void act_on(const Findings& findings);

  OutboundOwner& owner_;
  const runtime::Clock& clock_;
  const std::size_t most_unsent_bytes_;
  const Duration slow_reader_time_;
  const Duration outbound_age_;
  StreamMetrics& metrics_;

  mutable SmallMutex mutex_;
  bool is_finished_ = false;
  ClientLink* link_;
  // One turn at a time speaks to most clients: its place is here. Those that speak while another
  // has it, or while its flush is held, have one of their own each.
  const runtime::Turn* own_turn_ = nullptr;
  Gathered own_;
  std::vector<std::pair<const runtime::Turn*, runtime::Ref<Batch>>> batches_;
  std::optional<Instant> over_since_;  // more than most_unsent_bytes_ stand unsent
  std::int64_t handed_over_bytes_ = 0;
  std::optional<Mark> mark_;  // not all of it has been sent yet
  SharedBytes waiting_pong_;
  PerishableFrames perishable_;
};

}  // namespace spotmesh::stream

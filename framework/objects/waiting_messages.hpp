// WaitingMessages: what waits, by the id that it is for, until it may go.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/calls.hpp>
#include <spotmesh/time.hpp>

#include "objects/envelope.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

// Keeps the messages for one id in order. What is said on a turn counts from the end of that turn,
// like all else that the turn says: only then may somebody see to it, so that it leaves neither
// before what the turn has said earlier nor while admission holds the turn's end. Any thread.
class WaitingMessages final : public runtime::RefCounted {
 public:
  using Key = std::pair<TargetKind, std::string>;
  // Something waits for the key and nobody sees to it yet: whoever is told does, until take() gives
  // nothing. Under no lock.
  using Begin = std::function<void(const Key&)>;

  explicit WaitingMessages(Begin begin) : begin_(std::move(begin)) {}

  // Nothing waits for any id: the first look of every message.
  bool is_empty() const { return keys_.load(std::memory_order_acquire) == 0; }
  // Behind what waits for the id already; false when nothing does, and the envelope is untouched.
  // It is refused with CapacityExceeded when limits::sends_waiting_for_resolve_per_id wait, or
  // limits::sends_waiting_for_resolve for all ids.
  bool join(Envelope& envelope);
  // The same, and it is the first when nothing waits.
  void wait(Envelope envelope);
  // Whatever comes for the key waits. False when somebody sees to it already; else the caller does.
  bool hold(const Key& key);

  // Of the requests that wait for the key by now.
  std::optional<Instant> latest_deadline(const Key& key) const;
  // Whether something waits for the key by now. If not, nobody sees to it from here on.
  bool go_on(const Key& key);
  // All that waits for the key by now; nothing when go_on() would have said no.
  std::deque<Envelope> take(const Key& key);
  // The same, but whatever comes goes on waiting.
  std::vector<Envelope> take_and_hold(const Key& key);
  // Everything that waits; what turns have yet to say is dropped at their ends.
  std::vector<Envelope> take_all();
  // Nobody is told anything from now on.
  void detach();

 private:
  class Saying;
  struct Line {
    std::deque<Envelope> messages;
    std::size_t unsaid = 0;  // of turns that have not ended
    bool is_seen_to = false;
  };
  using Lines = std::map<Key, Line>;

  ~WaitingMessages() override = default;

  Lines::iterator open(const Key& key);
  void close_if_done(Lines::iterator line);
  bool go_on(Lines::iterator line);
  // The lock is given up. The envelope is taken, or refused when its line is full.
  void add(std::unique_lock<std::mutex> lock, Lines::iterator line, Envelope& envelope);
  void say(const Key& key, Envelope envelope);
  void unsay(const Key& key);

  std::atomic<std::size_t> keys_{0};
  mutable std::mutex mutex_;
  Begin begin_;
  bool is_detached_ = false;
  std::size_t waiting_ = 0;  // for all ids, the unsaid ones included
  Lines lines_;
};

}  // namespace spotmesh::objects

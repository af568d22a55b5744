#include "objects/waiting_messages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>

#include "base/pool.hpp"

namespace spotmesh::objects {

// One message that a turn has yet to say.
class WaitingMessages::Saying final : public runtime::Flushable {
 public:
  Saying(WaitingMessages& waiting, Key key, Envelope envelope)
      : waiting_(&waiting), key_(std::move(key)), envelope_(std::move(envelope)) {}
  ~Saying() override {
    if (!is_said_) waiting_->unsay(key_);
  }
  void flush() override {
    if (!std::exchange(is_said_, true)) waiting_->say(key_, std::move(envelope_));
  }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

 private:
  runtime::Ref<WaitingMessages> waiting_;
  const Key key_;
  Envelope envelope_;
  bool is_said_ = false;
};

bool WaitingMessages::join(Envelope& envelope) {
  if (is_empty()) return false;
  std::unique_lock lock(mutex_);
  const auto line = lines_.find(Key(envelope.kind, envelope.id));
  if (line == lines_.end()) return false;
  add(std::move(lock), line, envelope);
  return true;
}

void WaitingMessages::wait(Envelope envelope) {
  std::unique_lock lock(mutex_);
  const auto line = open(Key(envelope.kind, envelope.id));
  add(std::move(lock), line, envelope);
}

bool WaitingMessages::hold(const Key& key) {
  std::lock_guard lock(mutex_);
  return !std::exchange(open(key)->second.is_seen_to, true);
}

bool WaitingMessages::go_on(const Key& key) {
  std::lock_guard lock(mutex_);
  const auto line = lines_.find(key);
  return line != lines_.end() && go_on(line);
}

std::deque<Envelope> WaitingMessages::take(const Key& key) {
  std::lock_guard lock(mutex_);
  const auto line = lines_.find(key);
  if (line == lines_.end() || !go_on(line)) return {};
  waiting_ -= line->second.messages.size();
  return std::exchange(line->second.messages, {});
}

std::vector<Envelope> WaitingMessages::take_and_hold(const Key& key) {
  std::vector<Envelope> all;
  std::lock_guard lock(mutex_);
  const auto line = lines_.find(key);
  if (line == lines_.end()) return all;
  waiting_ -= line->second.messages.size();
  for (Envelope& each : std::exchange(line->second.messages, {})) all.push_back(std::move(each));
  return all;
}

std::vector<Envelope> WaitingMessages::take_all() {
  std::vector<Envelope> all;
  std::lock_guard lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end();) {
    waiting_ -= line->second.messages.size();
    for (Envelope& each : line->second.messages) all.push_back(std::move(each));
    line->second.messages.clear();
    line->second.is_seen_to = false;
    close_if_done(line++);
  }
  return all;
}

void WaitingMessages::detach() {
  std::lock_guard lock(mutex_);
  is_detached_ = true;
}

WaitingMessages::Lines::iterator WaitingMessages::open(const Key& key) {
  const auto [line, is_new] = lines_.try_emplace(key);
  if (is_new) keys_.fetch_add(1, std::memory_order_release);
  return line;
}

void WaitingMessages::close_if_done(Lines::iterator line) {
  const Line& each = line->second;
  if (!each.messages.empty() || each.unsaid > 0 || each.is_seen_to) return;
  lines_.erase(line);
  keys_.fetch_sub(1, std::memory_order_release);
}

bool WaitingMessages::go_on(Lines::iterator line) {
  if (!line->second.messages.empty()) return true;
  line->second.is_seen_to = false;
  close_if_done(line);
  return false;
}

void WaitingMessages::add(std::unique_lock<std::mutex> lock, Lines::iterator line,
                          Envelope& envelope) {
  Line& each = line->second;
  const std::size_t for_id = each.messages.size() + each.unsaid;
  const bool is_line_full = for_id >= limits::sends_waiting_for_resolve_per_id;
  const bool is_full = is_line_full || waiting_ >= limits::sends_waiting_for_resolve;
  if (!is_full) {
    ++each.unsaid;
    ++waiting_;
  }
  const Key key = line->first;
  if (is_full) close_if_done(line);
  lock.unlock();
  if (is_full) {
    envelope.refuse(Error::capacity_exceeded(fmt::format(
        "{}: {} messages wait for {} to be resolved", envelope.what(),
        is_line_full ? limits::sends_waiting_for_resolve_per_id : limits::sends_waiting_for_resolve,
        is_line_full ? "the id" : "ids")));
  } else if (runtime::Turn* turn = runtime::Turn::current()) {
    turn->flush_at_end(*runtime::make_ref<Saying>(*this, key, std::move(envelope)));
  } else {
    say(key, std::move(envelope));
  }
}

std::optional<Instant> WaitingMessages::latest_deadline(const Key& key) const {
  std::lock_guard lock(mutex_);
  std::optional<Instant> latest;
  const auto line = lines_.find(key);
  if (line == lines_.end()) return latest;
  for (const Envelope& each : line->second.messages) {
    if (each.deadline.has_value())
      latest = std::max(latest.value_or(*each.deadline), *each.deadline);
  }
  return latest;
}

void WaitingMessages::say(const Key& key, Envelope envelope) {
  {
    std::lock_guard lock(mutex_);
    const auto line = lines_.find(key);
    --line->second.unsaid;
    if (is_detached_) {
      --waiting_;
      return close_if_done(line);
    }
    line->second.messages.push_back(std::move(envelope));
    if (std::exchange(line->second.is_seen_to, true)) return;
  }
  begin_(key);
}

void WaitingMessages::unsay(const Key& key) {
  std::lock_guard lock(mutex_);
  const auto line = lines_.find(key);
  --line->second.unsaid;
  --waiting_;
  close_if_done(line);
}

}  // namespace spotmesh::objects

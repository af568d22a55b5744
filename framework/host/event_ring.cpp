#include "host/event_ring.hpp"

#include <algorithm>
#include <utility>

#include "host/event_log.hpp"
#include "host/json_writer.hpp"
#include "host/log_format.hpp"

namespace spotmesh::host {
namespace {

// What an event costs beside its texts.
constexpr std::size_t overhead_bytes = 256;
constexpr std::size_t field_overhead_bytes = 64;

}  // namespace

std::size_t EventRing::bytes_of(const Kept& kept) {
  std::size_t bytes = overhead_bytes + kept.event.subject.size();
  for (const LogField& field : kept.event.fields) {
    bytes += field_overhead_bytes + field.value.size();
  }
  return bytes;
}

std::string EventRing::row_of(const Kept& kept) {
  JsonWriter json;
  json.begin_object();
  json.field("time", iso_time(kept.time));
  json.field("kind", kept.event.kind);
  json.field("subject", kept.event.subject);
  json.begin_object("fields");
  for (const LogField& field : kept.event.fields) json.field(field.key, field.value);
  json.end_object();
  json.end_object();
  return json.take_value();
}

void EventRing::emit(Event event) {
  if (log_.is_enabled(LogLevel::Debug)) EventLog(log_).emit(event);
  auto kept = std::make_shared<Kept>();
  kept->time = clock_.wall_now();
  kept->event = std::move(event);
  std::vector<KeptRef> let_go;  // ends outside the lock
  std::map<std::uint64_t, std::function<void()>> heard;
  {
    std::lock_guard lock(mutex_);
    kept->number = ++last_;
    bytes_ += bytes_of(*kept);
    kept_.push_back(std::move(kept));
    while (kept_.size() > bounds_.events || (bytes_ > bounds_.bytes && kept_.size() > 1)) {
      bytes_ -= bytes_of(*kept_.front());
      let_go.push_back(std::move(kept_.front()));
      kept_.pop_front();
    }
    heard.swap(waiting_);
  }
  for (const auto& [waiter, tell] : heard) tell();
}

EventRing::Part EventRing::after(std::uint64_t number, std::size_t most) const {
  std::vector<KeptRef> found;
  Part part;
  {
    std::lock_guard lock(mutex_);
    part.last = last_;
    if (!kept_.empty() && number < last_) {
      const std::uint64_t oldest = kept_.front()->number;
      const std::size_t begin = number < oldest ? 0 : static_cast<std::size_t>(number + 1 - oldest);
      const std::size_t end = begin + std::min(most, kept_.size() - begin);
      for (std::size_t i = begin; i < end; ++i) found.push_back(kept_[i]);
    }
  }
  if (found.empty()) return part;
  part.first = found.front()->number;
  part.last = found.back()->number;
  part.rows.reserve(found.size());
  for (const KeptRef& kept : found) part.rows.push_back(row_of(*kept));
  return part;
}

std::uint64_t EventRing::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

std::vector<std::string> EventRing::about(std::string_view subject, std::size_t most) const {
  std::deque<KeptRef> all;
  {
    // Looked through outside the lock: it may be all of them.
    std::lock_guard lock(mutex_);
    all = kept_;
  }
  std::vector<std::string> rows;
  for (auto kept = all.rbegin(); kept != all.rend() && rows.size() < most; ++kept) {
    if ((*kept)->event.subject == subject) rows.push_back(row_of(**kept));
  }
  std::ranges::reverse(rows);
  return rows;
}

std::uint64_t EventRing::when_after(std::uint64_t number, std::function<void()> heard) {
  {
    std::lock_guard lock(mutex_);
    if (last_ <= number) {
      waiting_.emplace(++waiters_, std::move(heard));
      return waiters_;
    }
  }
  heard();
  return 0;
}

void EventRing::forget(std::uint64_t waiter) {
  std::function<void()> let_go;  // ends outside the lock
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(waiter);
  if (found == waiting_.end()) return;
  let_go = std::move(found->second);
  waiting_.erase(found);
}

}  // namespace spotmesh::host

#include "stream/perishable_frames.hpp"

#include <algorithm>
#include <utility>

namespace spotmesh::stream {

void PerishableFrames::keep(const PerishablePush& push, SharedBytes frame, Instant now,
                            std::vector<SharedBytes>& out) {
  if (waiting_ == nullptr) waiting_ = std::make_unique<std::deque<Waiting>>();
  if (push.only_latest) {
    const auto older = std::ranges::find_if(*waiting_, [&](const Waiting& each) {
      return each.only_latest && each.packet == push.packet;
    });
    if (older != waiting_->end()) {
      bytes_ -= older->frame.size();
      waiting_->erase(older);
      metrics_.pushes_superseded.add();
    }
  }
  bytes_ += frame.size();
  std::optional<Instant> stale_at;
  if (push.drop_after != Duration{}) stale_at = now + push.drop_after;
  waiting_->push_back({push.packet, push.only_latest, stale_at, std::move(frame)});
  while (bytes_ > most_bytes_) take_first(now, out);
}

void PerishableFrames::take(Instant now, std::vector<SharedBytes>& out) {
  while (waiting_ != nullptr) take_first(now, out);
}

void PerishableFrames::take_first(Instant now, std::vector<SharedBytes>& out) {
  Waiting first = std::move(waiting_->front());
  waiting_->pop_front();
  if (waiting_->empty()) waiting_.reset();
  bytes_ -= first.frame.size();
  if (first.stale_at.has_value() && *first.stale_at <= now) return metrics_.pushes_stale.add();
  out.push_back(std::move(first.frame));
}

void PerishableFrames::clear() {
  waiting_.reset();
  bytes_ = 0;
}

}  // namespace spotmesh::stream

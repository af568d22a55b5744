#include "stream/request_table.hpp"

#include <algorithm>

namespace spotmesh::stream {

bool RequestTable::has(wire::RequestSeq seq) const {
  if (seq.value > highest_seq_) return false;
  return std::ranges::any_of(pending_, [&](const Pending& each) { return each.key.seq == seq; });
}

bool RequestTable::has(const RequestKey& key) const {
  return std::ranges::any_of(pending_, [&](const Pending& each) { return each.key == key; });
}

RequestKey RequestTable::add(wire::RequestSeq seq, Instant deadline) {
  const RequestKey key{seq, ++last_number_};
  highest_seq_ = std::max(highest_seq_, seq.value);
  pending_.push_back({key, deadline});
  return key;
}

bool RequestTable::remove(const RequestKey& key) {
  const auto found =
      std::ranges::find_if(pending_, [&](const Pending& each) { return each.key == key; });
  if (found == pending_.end()) return false;
  pending_.erase(found);
  return true;
}

std::optional<wire::RequestSeq> RequestTable::take_expired(Instant now) {
  if (pending_.empty() || pending_.front().deadline > now) return std::nullopt;
  const wire::RequestSeq seq = pending_.front().key.seq;
  pending_.erase(pending_.begin());
  return seq;
}

std::optional<Instant> RequestTable::next_deadline() const {
  if (pending_.empty()) return std::nullopt;
  return pending_.front().deadline;
}

}  // namespace spotmesh::stream

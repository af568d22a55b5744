#include "objects/operation_table.hpp"

#include <algorithm>

namespace spotmesh::objects {
namespace {

mesh::Peer source_of(const location::OperationKey& key) {
  return {key.source_rid, key.source_lifecycle};
}

}  // namespace

OperationTable::Admission OperationTable::admit(const location::OperationKey& key,
                                                const PeerMessage& call, Instant now) {
  while (!by_age_.empty() && by_age_.begin()->first <= now) drop(Aged(*by_age_.begin()));
  const auto known = operations_.find(key);
  if (known != operations_.end()) {
    if (!known->second.answer) {
      known->second.call = call;
      return Admission::UnderWay;
    }
    known->second.answer(call);
    return Admission::Answered;
  }
  if (under_way_ >= bounds_.under_way) return Admission::Full;
  const auto share = shares_.try_emplace(source_of(key)).first;
  if (share->second.under_way >= bounds_.under_way_per_node) return Admission::Full;
  ++share->second.under_way;
  ++under_way_;
  operations_[key].call = call;
  return Admission::Begin;
}

void OperationTable::finish(const location::OperationKey& key, Answer answer, std::size_t bytes,
                            Instant keep_until) {
  const auto known = operations_.find(key);
  if (known == operations_.end() || known->second.answer) return;
  no_longer_under_way(key);
  Operation& operation = known->second;
  answer(operation.call);
  operation = {.call = {}, .answer = std::move(answer), .bytes = bytes, .keep_until = keep_until};
  Share& share = shares_.at(source_of(key));
  share.by_age.emplace(keep_until, key);
  share.bytes += bytes;
  by_age_.emplace(keep_until, key);
  bytes_ += bytes;
  const auto drop_of_largest = [this](const auto& size) {
    const auto largest =
        std::ranges::max_element(shares_, {}, [&](const auto& each) { return size(each.second); });
    drop(Aged(*largest->second.by_age.begin()));
  };
  while (by_age_.size() > bounds_.answers) {
    drop_of_largest([](const Share& each) { return each.by_age.size(); });
  }
  while (bytes_ > bounds_.answer_bytes) {
    drop_of_largest([](const Share& each) { return each.bytes; });
  }
}

void OperationTable::forget(const location::OperationKey& key, const Answer& answer) {
  const auto known = operations_.find(key);
  if (known == operations_.end() || known->second.answer) return;
  const PeerMessage call = std::move(known->second.call);
  no_longer_under_way(key);
  operations_.erase(known);
  drop_if_empty(shares_.find(source_of(key)));
  answer(call);
}

void OperationTable::no_longer_under_way(const location::OperationKey& key) {
  --shares_.at(source_of(key)).under_way;
  --under_way_;
}

void OperationTable::drop(const Aged& aged) {
  const auto known = operations_.find(aged.second);
  const auto share = shares_.find(source_of(aged.second));
  bytes_ -= known->second.bytes;
  share->second.bytes -= known->second.bytes;
  share->second.by_age.erase(aged);
  by_age_.erase(aged);
  operations_.erase(known);
  drop_if_empty(share);
}

void OperationTable::drop_if_empty(Shares::iterator share) {
  if (share->second.under_way == 0 && share->second.by_age.empty()) shares_.erase(share);
}

}  // namespace spotmesh::objects

#include "objects/operation_table.hpp"

namespace spotmesh::objects {

OperationTable::Admission OperationTable::admit(const location::OperationKey& key,
                                                const PeerMessage& call, Instant now) {
  while (!by_age_.empty() && by_age_.begin()->first <= now) drop_oldest();
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
  ++under_way_;
  operations_[key].call = call;
  return Admission::Begin;
}

void OperationTable::finish(const location::OperationKey& key, Answer answer, std::size_t bytes,
                            Instant keep_until) {
  const auto known = operations_.find(key);
  if (known == operations_.end() || known->second.answer) return;
  Operation& operation = known->second;
  --under_way_;
  answer(operation.call);
  operation.call = {};
  operation.answer = std::move(answer);
  operation.bytes = bytes;
  operation.age = by_age_.emplace(keep_until, key);
  bytes_ += bytes;
  while (by_age_.size() > bounds_.answers || bytes_ > bounds_.answer_bytes) drop_oldest();
}

void OperationTable::forget(const location::OperationKey& key, const Answer& answer) {
  const auto known = operations_.find(key);
  if (known == operations_.end() || known->second.answer) return;
  const PeerMessage call = std::move(known->second.call);
  --under_way_;
  operations_.erase(known);
  answer(call);
}

void OperationTable::drop_oldest() {
  const auto known = operations_.find(by_age_.begin()->second);
  bytes_ -= known->second.bytes;
  operations_.erase(known);
  by_age_.erase(by_age_.begin());
}

}  // namespace spotmesh::objects

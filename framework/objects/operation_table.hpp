// OperationTable: durable operations of other nodes that this node has under way or has answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "location/records.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

// So that a message that comes twice runs nothing twice. The table is in framework/docs/durable.md.
// Strand only.
class OperationTable {
 public:
  // Answers one call with what the operation has ended in.
  using Answer = std::function<void(const PeerMessage& call)>;
  struct Bounds {
    std::size_t under_way = limits::durable_operations_under_way;
    std::size_t answers = limits::durable_answers;
    std::size_t answer_bytes = limits::durable_answer_bytes;
  };

  OperationTable() = default;
  explicit OperationTable(Bounds bounds) : bounds_(bounds) {}

  enum class Admission : std::uint8_t {
    Begin,     // it is new: the caller begins it, and says finish() or forget()
    UnderWay,  // its answer goes to this call too, and to no earlier one
    Answered,  // it has ended; the call was answered
    Full       // too many are under way
  };
  Admission admit(const location::OperationKey& key, const PeerMessage& call, Instant now);

  // It has ended: `answer` is given to whoever waits, and kept until `keep_until`. `bytes` is what
  // it keeps in memory.
  void finish(const location::OperationKey& key, Answer answer, std::size_t bytes,
              Instant keep_until);
  // It has ended in a way that a repetition may change: `answer` is given and not kept.
  void forget(const location::OperationKey& key, const Answer& answer);

  std::size_t under_way() const { return under_way_; }
  std::size_t answers() const { return by_age_.size(); }

 private:
  struct Operation {
    PeerMessage call;  // the newest, while it is under way
    Answer answer;     // once it has ended
    std::size_t bytes = 0;
    std::multimap<Instant, location::OperationKey>::iterator age;
  };
  using Operations = std::map<location::OperationKey, Operation>;

  void drop_oldest();

  const Bounds bounds_;
  Operations operations_;
  std::multimap<Instant, location::OperationKey> by_age_;  // those that have ended
  std::size_t under_way_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace spotmesh::objects

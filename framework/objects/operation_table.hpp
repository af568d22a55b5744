// OperationTable: durable operations of other nodes that this node has under way or has answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "location/records.hpp"
#include "mesh/peers.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

// So that a message that comes twice runs nothing twice. Strand only. The table is in
// framework/docs/creation.md.
class OperationTable {
 public:
  // Answers one call with what the operation has ended in.
  using Answer = std::function<void(const PeerMessage& call)>;
  struct Bounds {
    std::size_t under_way = limits::durable_operations_under_way;
    std::size_t under_way_per_node = limits::durable_operations_under_way / 4;
    std::size_t answers = limits::durable_answers;
    std::size_t answer_bytes = limits::durable_answer_bytes;
  };

  OperationTable() = default;
  explicit OperationTable(Bounds bounds) : bounds_(bounds) {}

  enum class Admission : std::uint8_t {
    Begin,     // it is new: the caller begins it, and says finish() or forget()
    UnderWay,  // its answer goes to this call too, and to no earlier one
    Answered,  // it has ended; the call was answered
    Full       // too many are under way, of that node or of all
  };
  Admission admit(const location::OperationKey& key, const PeerMessage& call, Instant now);

  // It has ended: `answer` is given to whoever waits, and kept until `keep_until`. `bytes` is what
  // it keeps in memory. Past the bounds the node that has the most kept here loses its oldest.
  void finish(const location::OperationKey& key, Answer answer, std::size_t bytes,
              Instant keep_until);
  // It has ended in a way that a repetition may change: `answer` is given and not kept.
  void forget(const location::OperationKey& key, const Answer& answer);

  std::size_t under_way() const { return under_way_; }
  std::size_t answers() const { return by_age_.size(); }

 private:
  using Aged = std::pair<Instant, location::OperationKey>;
  struct Operation {
    PeerMessage call;  // the newest, while it is under way
    Answer answer;     // once it has ended
    std::size_t bytes = 0;
    Instant keep_until{};
  };
  // What is of one run of a node.
  struct Share {
    std::size_t under_way = 0;
    std::size_t bytes = 0;
    std::set<Aged> by_age;  // those that have ended
  };
  using Shares = std::map<mesh::Peer, Share>;

  void no_longer_under_way(const location::OperationKey& key);
  void drop(const Aged& aged);
  void drop_if_empty(Shares::iterator share);

  const Bounds bounds_;
  std::map<location::OperationKey, Operation> operations_;
  Shares shares_;
  std::set<Aged> by_age_;  // of all nodes
  std::size_t under_way_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace spotmesh::objects

// Creations: making Actors and User Spots, on this node or on another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "location/create.hpp"
#include "mesh/peers.hpp"
#include "objects/frozen_application.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

class Core;

// A creation whose texts have been checked.
struct CreateSpec {
  TargetKind kind = TargetKind::Actor;
  std::string id;
  StableType type;
  const MeshTypes* mesh = nullptr;
  bool accepts_existing = false;
  Message request;
  Instant deadline;
  // Another node's: it is made here, or not at all.
  std::optional<location::OperationKey> operation;
};

// Where the object is, and what the acceptance callback said.
struct CreateReply {
  enum class Kind : std::uint8_t { Created, Existing, Rejected };
  Kind kind = Kind::Rejected;
  ObjectGeneration generation;  // with the next two: of Created and Existing
  std::string mesh;
  NodeRid node;
  Message reply;  // of Created and Rejected
};

struct CreateEnd {
  Result<CreateReply> result;
  // Nothing was reserved: another node may be asked.
  bool is_turned_away = false;
};

class CreationRun;
class CreationService;

// Strand only, except start().
class Creations {
 public:
  using Done = std::function<void(CreateEnd)>;

  explicit Creations(Core& core);
  ~Creations();

  // Any thread; `done` is called once, on the strand.
  void start(CreateSpec spec, Done done);
  // The same on the strand.
  void begin(CreateSpec spec, Done done);
  // The node that asked waits no longer.
  void withdraw(const location::OperationKey& operation);
  void stop_all();
  // Nothing runs any more: ends the circles of references between runs and what they make.
  void let_go();
  // Creations that have not been answered, or whose last commit is not settled.
  std::size_t under_way() const { return runs_.size(); }

 private:
  friend class CreationRun;
  struct ByStart {
    bool operator()(const std::shared_ptr<CreationRun>& a,
                    const std::shared_ptr<CreationRun>& b) const;
  };

  Result<void> on_admitted(const PeerMessage& message);
  void on_node_gone(const mesh::Peer& node, const Error& reason);

  Core& core_;
  std::uint64_t started_ = 0;
  std::set<std::shared_ptr<CreationRun>, ByStart> runs_;
  std::map<location::OperationKey, CreationRun*> by_operation_;
  std::unique_ptr<CreationService> service_;
};

}  // namespace spotmesh::objects

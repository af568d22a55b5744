// Creations: making Actors and User Spots on this node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "location/create.hpp"
#include "objects/frozen_application.hpp"

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

class CreationRun;

// Strand only, except start().
class Creations {
 public:
  using Done = std::function<void(Result<CreateReply>)>;

  explicit Creations(Core& core);
  ~Creations();

  // Any thread; `done` is called once, on the strand.
  void start(CreateSpec spec, Done done);
  void stop_all();
  // Creations that have not been answered, or whose last commit is not settled.
  std::size_t under_way() const { return runs_.size(); }

 private:
  friend class CreationRun;
  struct ByStart {
    bool operator()(const std::shared_ptr<CreationRun>& a,
                    const std::shared_ptr<CreationRun>& b) const;
  };

  Core& core_;
  std::uint64_t started_ = 0;
  std::set<std::shared_ptr<CreationRun>, ByStart> runs_;
};

}  // namespace spotmesh::objects

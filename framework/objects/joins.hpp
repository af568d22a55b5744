// Joins: the deferred Joins of this node that have started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

#include <spotmesh/error.hpp>

#include "objects/turn_scope.hpp"

namespace spotmesh::objects {

class ActorCell;
class Core;

class Joins {
 public:
  explicit Joins(Core& core);
  ~Joins();

  // The handler that registered the Join has ended well. Any thread.
  void start(DeferredJoin join);

  // The rest is for the strand. The node stops.
  void stop_all(const Error& error);
  // This node lets go of the Actor: a Join that waits for its turns to end waits in vain.
  void stepped_down(const ActorCell& actor, const Error& reason);
  // Nothing runs any more: ends the circles of references between runs and Actors.
  void let_go();
  std::size_t under_way() const { return runs_.size(); }

 private:
  class Run;
  void forget(const std::shared_ptr<Run>& run) { runs_.erase(run); }

  struct ByStart {
    bool operator()(const std::shared_ptr<Run>& a, const std::shared_ptr<Run>& b) const;
  };

  Core& core_;
  std::uint64_t started_ = 0;
  std::set<std::shared_ptr<Run>, ByStart> runs_;
};

}  // namespace spotmesh::objects

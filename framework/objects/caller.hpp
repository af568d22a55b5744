// Caller: on whose behalf a context's calls are made.
#pragma once

#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/logger.hpp>

namespace spotmesh::runtime {
class Turn;
}

namespace spotmesh::objects {

class Core;

class Caller {
 public:
  // `mesh_name` is empty for a session.
  Caller(Core& core, std::string mesh_name, Logger logger)
      : core_(core), mesh_name_(std::move(mesh_name)), logger_(std::move(logger)) {}

  Core& core() const { return core_; }
  const std::string& mesh_name() const { return mesh_name_; }
  const Logger& logger() const { return logger_; }

  // The turn that a call is made on: InvalidOperation outside every turn, ShuttingDown when the
  // node takes no new work. `what` names the call ("send to Actor 'x'").
  Result<runtime::Turn*> require_turn(std::string_view what) const;
  // Whether require_turn() gives a turn; for who has no name yet.
  bool may_call() const;

 private:
  Core& core_;
  std::string mesh_name_;
  Logger logger_;
};

}  // namespace spotmesh::objects

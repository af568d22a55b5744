// Caller: on whose behalf a context's calls are made.
#pragma once

#include <atomic>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/logger.hpp>

namespace spotmesh::runtime {
class Turn;
}

namespace spotmesh::objects {

class Core;

class Caller {
 public:
  // `mesh_name` is empty for a session, and outlives this.
  Caller(Core& core, std::string_view mesh_name) : core_(core), mesh_name_(mesh_name) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  virtual ~Caller();

  Core& core() const { return core_; }
  std::string_view mesh_name() const { return mesh_name_; }
  // Made when it is first asked for, which most objects never do. Any thread.
  const Logger& logger() const;

  // The turn that a call is made on: InvalidOperation outside every turn, ShuttingDown when the
  // node takes no new work. `what` names the call ("send to Actor 'x'").
  Result<runtime::Turn*> require_turn(std::string_view what) const;
  // Whether require_turn() gives a turn; for who has no name yet.
  bool may_call() const;

 private:
  virtual Logger make_logger() const = 0;

  Core& core_;
  const std::string_view mesh_name_;
  mutable std::atomic<const Logger*> logger_{nullptr};
};

}  // namespace spotmesh::objects

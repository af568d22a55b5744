// CallerEnd: what a SimCaller is on its node.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <spotmesh/context.hpp>
#include <spotmesh/task.hpp>

#include "node/node.hpp"
#include "objects/caller.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::testing {

class CallerEnd {
 public:
  CallerEnd(SimNode& seams, node::Node& node, const SessionId& id);
  ~CallerEnd();
  CallerEnd(const CallerEnd&) = delete;
  CallerEnd& operator=(const CallerEnd&) = delete;

  void run(std::function<Task<void>(Context&)> call);
  std::size_t unfinished() const { return *unfinished_; }
  bool is_gone() const;
  // Before the node ends.
  void end();

 private:
  class CallerContext;
  class CallJob;
  struct Place;

  runtime::Ref<Place> place_;
  std::unique_ptr<objects::Caller> caller_;
  std::unique_ptr<CallerContext> context_;
  // Of jobs that may outlive this.
  std::shared_ptr<std::size_t> unfinished_ = std::make_shared<std::size_t>(0);
};

}  // namespace spotmesh::testing

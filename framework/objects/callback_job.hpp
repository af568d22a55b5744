// CallbackJob: a lifecycle callback as a job of a control lane.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/task.hpp>

#include "objects/turn_scope.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::objects {

class Core;

// `what` is a literal, "on_joined_actor". `actor` is whom the callback is given.
struct CallbackSpec {
  std::string_view what;
  ActorCell* actor = nullptr;
  SpotCell* spot = nullptr;
};

// Pushes `body` to the control lane of `mailbox`. `done` is posted to the strand exactly once: with
// nothing when the body has ended, else with why not (it threw, the mailbox was closed or is full,
// the gate or the mailbox was abandoned before its end). Only a node that has ended posts nothing.
// A throw is counted and logged. `body` lives until its Task has ended; what it refers to does,
// too, since `done` keeps it.
void push_callback(Core& core, runtime::Mailbox& mailbox, const CallbackSpec& spec,
                   std::function<Task<void>()> body,
                   std::function<void(std::optional<Error>)> done);

}  // namespace spotmesh::objects

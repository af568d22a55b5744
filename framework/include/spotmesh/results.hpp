// Typed outcomes of creations: results, not errors.
#pragma once

#include <variant>

#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>

namespace spotmesh {

// The Actor was made by this call; `reply` is what on_create_actor accepted with.
struct Created {
  ActorRef actor;
  Message reply;
};
// A living Actor of the same type was there already; no factory and no callback ran.
struct Existing {
  ActorRef actor;
};
// The creation callback said no. The object was never findable and never got a message.
struct Rejected {
  Message reply;
};
using CreateResult = std::variant<Created, Existing, Rejected>;

struct SpotCreated {
  SpotRef spot;
  Message reply;
};
struct SpotExisting {
  SpotRef spot;
};
using SpotCreateResult = std::variant<SpotCreated, SpotExisting, Rejected>;

}  // namespace spotmesh

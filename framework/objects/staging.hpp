// Staging: an object that is being made and that nobody can find yet.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/decision.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>

#include "location/create.hpp"
#include "location/records.hpp"
#include "objects/frozen_application.hpp"

namespace spotmesh::objects {

class Core;

// Runs factory, configure and the acceptance callback as turns, then waits to be exposed or
// discarded. Strand only; kept by a shared_ptr.
class Staging {
 public:
  // What the acceptance callback decided, or why it came to no decision.
  using Outcome = Result<CreateDecision>;
  using Decided = std::function<void(const Outcome&)>;

  virtual ~Staging() = default;

  // `decided` is called once on the strand, but not after discard().
  virtual void run(Message request, Decided decided) = 0;
  // What the machine is to publish with the accepted object.
  virtual location::create::Accepted acceptance() const = 0;
  // The object is Ready in the store: from now on it can be found and takes messages.
  virtual void expose(location::VersionedAuthority authority) = 0;
  // The object is dropped, whatever it is doing.
  virtual void discard() = 0;

  static std::shared_ptr<Staging> of_actor(Core& core, const MeshTypes& mesh, const ActorType& type,
                                           const std::string& id, ObjectGeneration generation);
  static std::shared_ptr<Staging> of_spot(Core& core, const MeshTypes& mesh, const SpotType& type,
                                          const std::string& id, ObjectGeneration generation);
};

}  // namespace spotmesh::objects

// StoreOperations: looking ids up and carrying single commits to a certain outcome.
#pragma once

#include <functional>
#include <string>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "location/find.hpp"
#include "location/remove.hpp"
#include "location/settle.hpp"
#include "mesh/peers.hpp"

namespace spotmesh::objects {

class Core;

// Strand only; so are the answers, each exactly once unless the node ends first.
class StoreOperations {
 public:
  explicit StoreOperations(Core& core) : core_(core) {}

  void find(location::ObjectKey object, Instant deadline,
            std::function<void(Result<location::FindOutcome>)> done);
  // `what` is for error texts ("Join of Actor 'x' to Spot 'y'").
  void settle(std::string what, location::Commit commit, Instant deadline,
              std::function<void(location::SettleOutcome)> done);
  // `delayed` is told, perhaps several times, why it is not done yet.
  void remove(location::RemoveRequest request, std::function<void(Error)> delayed,
              std::function<void(location::RemoveOutcome)> done);

 private:
  Core& core_;
};

// The key of an id that has been validated.
location::ObjectKey object_key(TargetKind kind, const std::string& id);

// Of one that is found.
mesh::Peer owner_of(const location::FindOutcome& found);

// Why an object that was looked up cannot be used, or nothing when it is found: NotFound (Missing),
// else Unavailable.
std::optional<Error> error_of(const location::FindOutcome& found, const std::string& name);

}  // namespace spotmesh::objects

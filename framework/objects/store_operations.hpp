// StoreOperations: looking ids up and carrying single commits to a certain outcome.
#pragma once

#include <functional>
#include <memory>
#include <set>
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
class Vacancies;

// Strand only; so are the answers, each exactly once unless the node ends first. A look-up that
// meets a record which names this run for what it does not have removes that record, and so one
// that a refused creation has left and that is past its time.
class StoreOperations {
 public:
  explicit StoreOperations(Core& core);
  ~StoreOperations();

  void find(location::ObjectKey object, Instant deadline,
            std::function<void(Result<location::FindOutcome>)> done);
  // What refused creations have left, to be deleted in its time.
  Vacancies& vacancies() { return *vacancies_; }
  // Another node has asked here for what is not here: the record that may have told it so is looked
  // at.
  void look_after(const location::ObjectKey& object);
  // `what` is for error texts ("Join of Actor 'x' to Spot 'y'").
  void settle(std::string what, location::Commit commit, Instant deadline,
              std::function<void(location::SettleOutcome)> done);
  // `delayed` is told, perhaps several times, why it is not done yet.
  void remove(location::RemoveRequest request, std::function<void(Error)> delayed,
              std::function<void(location::RemoveOutcome)> done);

 private:
  void remove_leftover(const location::ObjectKey& object, const location::FindOutcome& found);

  Core& core_;
  std::unique_ptr<Vacancies> vacancies_;
  // Keys that are being looked at for others, and of records that are being removed.
  std::set<std::string> looked_at_;
  std::set<std::string> removed_;
};

// The key of an id that has been validated.
location::ObjectKey object_key(TargetKind kind, const std::string& id);

// Of one that is found.
mesh::Peer owner_of(const location::FindOutcome& found);

// Why an object that was looked up cannot be used, or nothing when it is found: NotFound (Missing),
// else Unavailable.
std::optional<Error> error_of(const location::FindOutcome& found, const std::string& name);

}  // namespace spotmesh::objects

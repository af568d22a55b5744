// CreationRun: one creation, from its machine's first read to its answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <spotmesh/decision.hpp>
#include <spotmesh/task.hpp>

#include "location/create.hpp"
#include "objects/creation_away.hpp"
#include "objects/creations.hpp"
#include "objects/machine_driver.hpp"
#include "objects/placing.hpp"
#include "objects/staging.hpp"

namespace spotmesh::objects {

class CreationRun final : public MachineDriver<CreationRun, location::create::Event>,
                          public CreationAway::Owner {
 public:
  CreationRun(Core& core, Creations& owner, CreateSpec spec, Creations::Done done,
              std::uint64_t order);

  location::CreateMachine& machine() { return machine_; }

  const location::OperationKey& operation() const { return operation_; }
  // Null while no other node is asked.
  CreationAway* away() const { return away_.get(); }
  void stop(const Error& reason);
  void let_go();

  void perform(location::create::ChoosePlace&);
  void perform(location::create::TakeSlot&);
  void perform(location::create::FreeSlot&);
  void perform(location::create::WatchOwner& action);
  void perform(location::create::OwnerOver& action);
  void perform(location::create::RunFactory& action);
  void perform(location::create::DiscardInstance&);
  void perform(location::create::Answer& action);
  void perform(location::create::Done& action);

  const std::uint64_t order;

 private:
  void placed_here() override;
  void ended(Result<CreateReply> result) override;
  void done(CreateEnd end);

  void refuse_slot(Error error);
  Error no_entry_spot() const;
  void on_decided(const Staging::Outcome& outcome);
  CreateReply reply_to(const location::CreateOutcome& outcome) const;
  Message stored_reply(const location::StoredReply& reply) const;

  Creations& owner_;
  CreateSpec spec_;
  Creations::Done done_;
  const location::OperationKey operation_;
  Placing placing_;
  std::shared_ptr<CreationAway> away_;
  bool is_turned_away_ = false;  // there is no slot for it
  location::CreateMachine machine_;
  ObjectGeneration pending_;  // of the slot that was taken last
  std::shared_ptr<Staging> staging_;
  Message reply_;  // what the acceptance callback answered with
};

}  // namespace spotmesh::objects

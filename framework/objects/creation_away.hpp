// CreationAway: one creation that another node is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "mesh/peers.hpp"
#include "objects/creations.hpp"
#include "objects/durable_machine.hpp"
#include "objects/machine_driver.hpp"
#include "objects/peer_message.hpp"
#include "objects/placing.hpp"

namespace spotmesh::objects {

// Strand only.
class CreationAway final : public MachineDriver<CreationAway, durable::Event> {
 public:
  // Whom it is done for. It outlives the last call, which is placed_here() or ended().
  class Owner {
   public:
    virtual void placed_here() = 0;
    virtual void ended(Result<CreateReply> result) = 0;

   protected:
    ~Owner() = default;
  };

  // All but `core` stay as they are until the last call.
  CreationAway(Core& core, Owner& owner, const CreateSpec& spec, OperationId operation,
               Placing& placing, location::OwnerStamp target);

  DurableMachine& machine() { return machine_; }
  mesh::Peer target() const { return {target_.rid, target_.lifecycle}; }

  void perform(durable::FindRoute& action);
  void perform(durable::Send&);
  void perform(durable::Withdraw&);
  void perform(durable::Finished& action);

 private:
  void on_answer(const Result<PeerMessage>& answer);
  void on_lost(const Error& error);
  void on_create_answer(const PeerMessage& answer);

  Owner& owner_;
  const CreateSpec& spec_;
  const OperationId operation_;
  Placing& placing_;
  location::OwnerStamp target_;
  bool is_placed_ = true;  // the target is chosen, and has not been tried
  std::uint64_t call_ = 0;
  std::optional<CreateReply> reply_;
  std::optional<Error> error_;  // that the target answered with
  DurableMachine machine_;
};

}  // namespace spotmesh::objects

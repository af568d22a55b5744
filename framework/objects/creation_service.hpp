// CreationService: makes objects that other nodes have asked for.
#pragma once

#include <map>
#include <memory>

#include <spotmesh/error.hpp>

#include "location/records.hpp"
#include "objects/creations.hpp"
#include "objects/operation_table.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

class Core;

// Strand only.
class CreationService {
 public:
  CreationService(Core& core, Creations& creations);

 private:
  Result<void> on_create(const PeerMessage& message);
  Result<void> on_withdraw(const PeerMessage& message);
  void begin(const location::OperationKey& key, const PeerMessage& message, CreateSpec spec);
  void end(const location::OperationKey& key, Instant deadline, CreateEnd end);
  void admitted(const PeerMessage& message, OperationId operation);
  void answer(const PeerMessage& call, const CreateEnd& end);

  Core& core_;
  Creations& creations_;
  OperationTable operations_;
};

}  // namespace spotmesh::objects

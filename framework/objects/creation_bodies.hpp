// What nodes say to each other about creations.
#pragma once

#include <cstdint>

#include <flatbuffers/flatbuffers.h>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "objects/creations.hpp"
#include "objects/frozen_application.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

// Create, sent at `now`.
void write_create(flatbuffers::FlatBufferBuilder& builder, OperationId operation,
                  const CreateSpec& spec, Instant now);
// A creation that was asked for, as far as it can be read without knowing the mesh.
struct AskedCreation {
  OperationId operation;
  TargetKind kind = TargetKind::Actor;
  std::string id;
  StableType type;
  std::string mesh;
  bool accepts_existing = false;
  std::uint64_t remaining = 0;  // as sent, like the next
  std::int64_t sent_at = 0;
};
Result<AskedCreation> read_create(const PeerMessage& message);
// Its request. NotFound: the packet is unknown here.
Result<Message> read_create_request(const PeerMessage& message,
                                    const FrozenApplication& application);

// CreateAnswer.
void write_create_answer(flatbuffers::FlatBufferBuilder& builder, const CreateEnd& end);
Result<CreateEnd> read_create_answer(const PeerMessage& answer,
                                     const FrozenApplication& application);

// Admitted, Withdraw.
void write_operation(flatbuffers::FlatBufferBuilder& builder, OperationId operation);
Result<OperationId> read_operation(const PeerMessage& message);

}  // namespace spotmesh::objects

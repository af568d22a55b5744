// What nodes say to each other about topics.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>

#include "objects/frozen_application.hpp"
#include "objects/peer_message.hpp"
#include "objects/topic_key.hpp"

namespace spotmesh::objects {

struct ReadPublication {
  TopicKey topic;
  Message message;
};

struct ReadTopicChange {
  TopicKey topic;
  bool has_subscriber = false;
};

// The bodies of the kinds of the same names.
flatbuffers::FlatBufferBuilder publication(const TopicKey& topic, const Message& message);
flatbuffers::FlatBufferBuilder topic_change(const TopicKey& topic, bool has_subscriber);

// NotFound: this build does not know the packet. ProtocolError: the bytes break the protocol.
Result<ReadPublication> read_publication(const PeerMessage& from,
                                         const FrozenApplication& application);
Result<ReadTopicChange> read_topic_change(const PeerMessage& from);

}  // namespace spotmesh::objects

// The bodies of peer messages that several kinds share: packets, errors, what is left of a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <flatbuffers/flatbuffers.h>
#include <peer_messages_generated.h>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "objects/frozen_application.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

inline std::string_view view_of(const flatbuffers::String& text) {
  return {text.c_str(), text.size()};
}

flatbuffers::Offset<body::Packet> write_packet(flatbuffers::FlatBufferBuilder& builder,
                                               const Message& message);
// Its payload is a copy. NotFound: this build has no such packet. ProtocolError: metadata beyond
// its bounds, or not UTF-8.
Result<Message> read_packet(const PeerMessage& from, const body::Packet& packet,
                            const FrozenApplication& application);

body::Target target_of(TargetKind kind);
// ProtocolError for a number that is none.
Result<TargetKind> read_target(const PeerMessage& from, body::Target target);

// The id, of bytes that were sent by anybody: ProtocolError when it is none.
Result<std::string> read_id(const PeerMessage& from, const flatbuffers::String& text,
                            TargetKind kind);

// ProtocolError for a number that no incarnation has.
Result<ObjectGeneration> read_generation(const PeerMessage& from, std::uint64_t generation);

// An error's text on the wire: UTF-8, and cut at limits::peer_error_bytes.
flatbuffers::Offset<flatbuffers::String> write_error_text(flatbuffers::FlatBufferBuilder& builder,
                                                          const Error& error);
// The error that was sent as `kind` and `text`. ProtocolError when they say none.
Result<Error> read_error(const PeerMessage& from, std::uint8_t kind,
                         const flatbuffers::String* text);

void write_failure(flatbuffers::FlatBufferBuilder& builder, const Error& error);
// What a message of kind Failure says, or that it says nothing sound.
Error read_failure(const PeerMessage& failure);

// What a request of a game has come to. ProtocolError: the answer says nothing sound, or a packet
// that this build does not know.
Result<Message> read_reply(const Result<PeerMessage>& answer, const FrozenApplication& application);

// Nanoseconds on the wire; never negative.
std::uint64_t remaining_time(Instant deadline, Instant now);
// The deadline on this node's clock; hostile numbers give one within limits::peer_longest_time.
Instant deadline_after(Instant now, std::uint64_t remaining);

}  // namespace spotmesh::objects

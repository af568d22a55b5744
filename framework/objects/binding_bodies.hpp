// What nodes say to each other about bindings of client sessions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <flatbuffers/flatbuffers.h>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/frozen_application.hpp"
#include "objects/peer_message.hpp"
#include "objects/session_routes.hpp"

namespace spotmesh::objects {

// Packets of one binding that the Actor's node may hold because the Actor's mailbox is full, and
// that may be on their way to it.
inline constexpr std::uint64_t remote_session_packets = 64;

// A binding is named by its session and its generation. The node run that the session lives on is
// one of the two that talk, which the readers are given.

// Bind, sent at `now`.
flatbuffers::FlatBufferBuilder bind_body(const BindingIdentity& binding, const ActorId& actor,
                                         ObjectGeneration generation, Instant deadline,
                                         Instant now);
struct AskedBind {
  BindingIdentity binding;
  ActorId actor;
  ObjectGeneration generation;
  std::uint64_t remaining = 0;  // as sent, like the next
  std::int64_t sent_at = 0;
};
Result<AskedBind> read_bind(const PeerMessage& message);

// Unbind.
flatbuffers::FlatBufferBuilder unbind_body(const BindingIdentity& binding, bool has_disconnected);
struct AskedUnbind {
  BindingIdentity binding;
  bool has_disconnected = false;
};
Result<AskedUnbind> read_unbind(const PeerMessage& message);

// SessionSend, SessionRequest. The deadline is a request's.
flatbuffers::FlatBufferBuilder session_packet(const BindingIdentity& binding,
                                              std::uint64_t sequence, const Message& message,
                                              const std::optional<Instant>& deadline, Instant now);
struct ReadSessionPacket {
  BindingIdentity binding;
  std::uint64_t sequence = 0;
  Result<Message> message;  // NotFound: this build has no such packet
  std::uint64_t remaining = 0;
  std::int64_t sent_at = 0;
};
Result<ReadSessionPacket> read_session_packet(const PeerMessage& message,
                                              const FrozenApplication& application);

// SessionTaken; read on the session's node, as the following.
flatbuffers::FlatBufferBuilder session_taken(const BindingIdentity& binding,
                                             std::uint64_t sequence);
struct ReadSessionTaken {
  BindingIdentity binding;
  std::uint64_t sequence = 0;
};
Result<ReadSessionTaken> read_session_taken(const PeerMessage& message, const mesh::Peer& here);

// SessionPush.
flatbuffers::FlatBufferBuilder session_push(const BindingIdentity& binding, const Message& message);
struct ReadSessionPush {
  BindingIdentity binding;
  Message message;
};
Result<ReadSessionPush> read_session_push(const PeerMessage& message, const mesh::Peer& here,
                                          const FrozenApplication& application);

// BindingNews.
enum class BindingEvent : std::uint8_t { Replaced, Gone, Disconnect };
// A reason is cut at limits::peer_error_bytes.
flatbuffers::FlatBufferBuilder binding_news(const BindingIdentity& binding, BindingEvent event,
                                            std::string_view reason);
struct ReadBindingNews {
  BindingIdentity binding;
  BindingEvent event = BindingEvent::Gone;
  std::string reason;
};
Result<ReadBindingNews> read_binding_news(const PeerMessage& message, const mesh::Peer& here);

}  // namespace spotmesh::objects

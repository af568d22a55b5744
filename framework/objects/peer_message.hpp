// PeerMessage: what the object side of one node says to that of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <flatbuffers/flatbuffers.h>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "mesh/peers.hpp"

namespace spotmesh::objects {

// Numbers on the wire: never given again, never changed. The table is
// framework/docs/messages.md.
enum class PeerKind : std::uint16_t {
  // Of any call: it has failed.
  Failure = 1,

  // What games say.
  Send = 8,
  Request = 9,
  Reply = 10,
  Stale = 11,  // a Send or Request met no object of that id
  Fence = 12,  // all that was said before has been handed over once it is answered
  FenceAnswer = 13,

  // Control of objects that another node owns.
  Create = 16,
  CreateAnswer = 17,
  Destroy = 18,
  Close = 19,
  Ended = 20,
  Admitted = 21,  // an operation that was asked for has begun
  Withdraw = 22,  // nobody waits for it any more

  // Client sessions that are bound to Actors of another node.
  Bind = 24,
  Bound = 25,  // a Bind or an Unbind was done
  Unbind = 26,
  SessionSend = 27,     // what the client says
  SessionRequest = 28,  // … and asks
  SessionTaken = 29,    // there is room for more of it
  SessionPush = 30,     // what is said to the client
  BindingNews = 31,     // replaced, gone, or to be disconnected

  // About topics.
  Publication = 64,  // for all of the receiver's Spots that have subscribed
  TopicChange = 65,  // whether the sender has a Spot that has subscribed
  TopicChangeSeen = 66,

  // What operators ask.
  Inquiry = 80,
  InquiryAnswer = 81,

  // 32 to 63 are kept for moves (44: a binding's new route; 46: a relayed reply
  // has been taken).
};

// "Request", or the number of a kind that this build does not know.
std::string to_string(PeerKind kind);

// A header of 16 bytes (kind, six bytes of zero, call; little-endian) and a FlatBuffer of
// schemas/peer_messages.fbs, or nothing.
inline constexpr std::size_t peer_header_bytes = 16;

struct PeerMessage {
  mesh::Peer from;
  PeerKind kind{};
  // Nonzero: a call of the sender's, which this message makes or answers.
  std::uint64_t call = 0;
  SharedBytes bytes;  // header and body

  ByteView body() const { return bytes.view().subspan(peer_header_bytes); }
  // For answering the call later.
  PeerMessage without_bytes() const { return {from, kind, call, {}}; }
};

// `body` is finished; null: the message has none.
SharedBytes peer_bytes(PeerKind kind, std::uint64_t call,
                       const flatbuffers::FlatBufferBuilder* body);

// ProtocolError when there is no sound header.
Result<PeerMessage> open_peer_message(mesh::Peer from, SharedBytes bytes);

// ProtocolError that names the kind and the fault.
Error unsound(const PeerMessage& message, const std::string& fault);

// The body as a table of the schema, verified; as long as `message` lives. ProtocolError otherwise.
template <typename Table>
Result<const Table*> read_body(const PeerMessage& message) {
  const ByteView body = message.body();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(body.data());
  flatbuffers::Verifier verifier(bytes, body.size());
  if (!verifier.VerifyBuffer<Table>(nullptr)) return fail(unsound(message, "its body is unsound"));
  return flatbuffers::GetRoot<Table>(bytes);
}

}  // namespace spotmesh::objects

#include "objects/peer_message.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::objects {
namespace {

void put(std::byte* at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

std::uint64_t get(const std::byte* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(at[i]) << (8 * i);
  return value;
}

}  // namespace

std::string to_string(PeerKind kind) {
  switch (kind) {
    case PeerKind::Failure:
      return "Failure";
    case PeerKind::Send:
      return "Send";
    case PeerKind::Request:
      return "Request";
    case PeerKind::Reply:
      return "Reply";
    case PeerKind::Stale:
      return "Stale";
    case PeerKind::Fence:
      return "Fence";
    case PeerKind::FenceAnswer:
      return "FenceAnswer";
    case PeerKind::Publication:
      return "Publication";
    case PeerKind::Create:
      return "Create";
    case PeerKind::CreateAnswer:
      return "CreateAnswer";
    case PeerKind::Destroy:
      return "Destroy";
    case PeerKind::Close:
      return "Close";
    case PeerKind::Ended:
      return "Ended";
    case PeerKind::TopicChange:
      return "TopicChange";
    case PeerKind::TopicChangeSeen:
      return "TopicChangeSeen";
    case PeerKind::Inquiry:
      return "Inquiry";
    case PeerKind::InquiryAnswer:
      return "InquiryAnswer";
    case PeerKind::Admitted:
      return "Admitted";
    case PeerKind::Withdraw:
      return "Withdraw";
    case PeerKind::Bind:
      return "Bind";
    case PeerKind::Bound:
      return "Bound";
    case PeerKind::Unbind:
      return "Unbind";
    case PeerKind::SessionSend:
      return "SessionSend";
    case PeerKind::SessionRequest:
      return "SessionRequest";
    case PeerKind::SessionTaken:
      return "SessionTaken";
    case PeerKind::SessionPush:
      return "SessionPush";
    case PeerKind::BindingNews:
      return "BindingNews";
  }
  return std::to_string(static_cast<std::uint16_t>(kind));
}

SharedBytes peer_bytes(PeerKind kind, std::uint64_t call,
                       const flatbuffers::FlatBufferBuilder* body) {
  const std::size_t body_bytes = body == nullptr ? 0 : body->GetSize();
  Bytes bytes(peer_header_bytes + body_bytes);
  put(bytes.data(), static_cast<std::uint16_t>(kind), 2);
  put(bytes.data() + 8, call, 8);
  if (body_bytes > 0) {
    std::memcpy(bytes.data() + peer_header_bytes, body->GetBufferPointer(), body_bytes);
  }
  return SharedBytes(std::move(bytes));
}

Result<PeerMessage> open_peer_message(mesh::Peer from, SharedBytes bytes) {
  const ByteView view = bytes.view();
  if (view.size() < peer_header_bytes) {
    return fail(Error::protocol_error(
        fmt::format("node {} sent a message of {} bytes, which is no whole header", from.node.text,
                    view.size())));
  }
  const auto kind = static_cast<PeerKind>(get(view.data(), 2));
  const std::uint64_t call = get(view.data() + 8, 8);
  PeerMessage message{
      .from = std::move(from), .kind = kind, .call = call, .bytes = std::move(bytes)};
  if (get(view.data() + 2, 6) != 0) return fail(unsound(message, "its header is unsound"));
  return message;
}

Error unsound(const PeerMessage& message, const std::string& fault) {
  return Error::protocol_error(fmt::format("a message '{}' of node {}: {}", to_string(message.kind),
                                           message.from.node.text, fault));
}

}  // namespace spotmesh::objects

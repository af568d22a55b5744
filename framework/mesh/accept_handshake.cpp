#include <utility>

#include <fmt/format.h>

#include "mesh/handshake.hpp"

namespace spotmesh::mesh {

using handshake::Actions;
using wire::MeshRefusalReason;

AcceptHandshake::AcceptHandshake(const Credentials& credentials, wire::MeshNonce nonce)
    : credentials_(&credentials), nonce_(nonce) {}

Actions AcceptHandshake::on_frame(ByteView bytes) {
  if (state_ == State::Ended) return {};
  const auto frame = wire::decode_mesh_frame(bytes);
  if (!frame) return end(handshake::refuse(MeshRefusalReason::Malformed, frame.error().message()));
  if (const auto* refusal = std::get_if<wire::MeshRefusal>(&*frame)) {
    return end(
        {handshake::Refused{.is_by_peer = true, .reason = refusal->reason, .text = refusal->text}});
  }
  if (const auto* hello = std::get_if<wire::MeshHello>(&*frame)) {
    if (state_ == State::AwaitsHello) return on(*hello, bytes);
  }
  if (const auto* response = std::get_if<wire::MeshResponse>(&*frame)) {
    if (state_ == State::AwaitsResponse) return on(*response, bytes);
  }
  return end(handshake::refuse(MeshRefusalReason::Malformed,
                               "a frame came before its turn in the handshake"));
}

Actions AcceptHandshake::on(const wire::MeshHello& hello, ByteView bytes) {
  if (hello.version != wire::mesh_protocol_version) {
    return end(handshake::refuse(
        MeshRefusalReason::Version,
        fmt::format("the dialler speaks version {} of the mesh protocol, '{}' speaks version {}",
                    hello.version, credentials_->self.node.text, wire::mesh_protocol_version)));
  }
  if (hello.cluster != credentials_->cluster) {
    return end(handshake::refuse(
        MeshRefusalReason::Cluster,
        fmt::format("'{}' is of cluster '{}', '{}' of cluster '{}'", hello.dialler.node.text,
                    hello.cluster, credentials_->self.node.text, credentials_->cluster)));
  }
  dialler_ = {hello.dialler.node, hello.dialler.lifecycle};
  wanted_ = {hello.listener.node, hello.listener.lifecycle};
  hello_ = SharedBytes::copy_of(bytes);
  wire::MeshChallenge challenge{.listener = {credentials_->self.node, credentials_->self.lifecycle},
                                .nonce = nonce_};
  const Bytes unproven = wire::encode(challenge);
  challenge_ = SharedBytes::copy_of(wire::without_proof(unproven));
  challenge.proof =
      credentials_->secret.prove(HandshakeSide::Listener, hello_.view(), challenge_.view());
  state_ = State::AwaitsResponse;
  return {handshake::Say{SharedBytes(wire::encode(challenge))}};
}

Actions AcceptHandshake::on(const wire::MeshResponse& response, ByteView bytes) {
  const auto due = credentials_->secret.prove(HandshakeSide::Dialler, hello_.view(),
                                              challenge_.view(), wire::without_proof(bytes));
  if (!Secret::is_same(response.proof, due)) {
    return end(
        handshake::refuse(MeshRefusalReason::Secret,
                          fmt::format("the node '{}' that dialled has another secret than '{}'",
                                      dialler_.node.text, credentials_->self.node.text)));
  }
  if (wanted_ != credentials_->self) {
    return end(handshake::refuse(
        MeshRefusalReason::OtherRun,
        fmt::format("'{}' (lifecycle {}) was wanted, but '{}' (lifecycle {}) listens",
                    wanted_.node.text, to_string(wanted_.lifecycle), credentials_->self.node.text,
                    to_string(credentials_->self.lifecycle))));
  }
  return end({handshake::Proven{.dialler = dialler_, .response = response}});
}

Actions AcceptHandshake::end(Actions actions) {
  state_ = State::Ended;
  return actions;
}

}  // namespace spotmesh::mesh

#include <utility>

#include <fmt/format.h>

#include "mesh/handshake.hpp"

namespace spotmesh::mesh {

using handshake::Actions;
using wire::MeshRefusalReason;

DialHandshake::DialHandshake(const Credentials& credentials, Peer wanted, Session session,
                             wire::MeshNonce nonce)
    : credentials_(&credentials), wanted_(std::move(wanted)), session_(session), nonce_(nonce) {}

Actions DialHandshake::on_connected() {
  if (state_ != State::Ready) return {};
  state_ = State::AwaitsChallenge;
  const Peer& self = credentials_->self;
  hello_ = SharedBytes(wire::encode(wire::MeshHello{.version = wire::mesh_protocol_version,
                                                    .cluster = credentials_->cluster,
                                                    .dialler = {self.node, self.lifecycle},
                                                    .listener = {wanted_.node, wanted_.lifecycle},
                                                    .nonce = nonce_}));
  return {handshake::Say{hello_}};
}

Actions DialHandshake::on_frame(ByteView bytes) {
  if (state_ == State::Ended || state_ == State::Ready) return {};
  const auto frame = wire::decode_mesh_frame(bytes);
  if (!frame) return end(handshake::refuse(MeshRefusalReason::Malformed, frame.error().message()));
  if (const auto* refusal = std::get_if<wire::MeshRefusal>(&*frame)) {
    return end(
        {handshake::Refused{.is_by_peer = true, .reason = refusal->reason, .text = refusal->text}});
  }
  if (const auto* challenge = std::get_if<wire::MeshChallenge>(&*frame)) {
    if (state_ == State::AwaitsChallenge) return on(*challenge, bytes);
  }
  if (const auto* welcome = std::get_if<wire::MeshWelcome>(&*frame)) {
    if (state_ == State::AwaitsWelcome) return end({handshake::Welcomed{welcome->received}});
  }
  return end(handshake::refuse(MeshRefusalReason::Malformed,
                               "a frame came before its turn in the handshake"));
}

Actions DialHandshake::on(const wire::MeshChallenge& challenge, ByteView bytes) {
  const ByteView said = wire::without_proof(bytes);
  const Secret& secret = credentials_->secret;
  const auto due = secret.prove(HandshakeSide::Listener, hello_.view(), said);
  if (!Secret::is_same(challenge.proof, due)) {
    return end(
        handshake::refuse(MeshRefusalReason::Secret,
                          fmt::format("the node '{}' that listens has another secret than '{}'",
                                      challenge.listener.node.text, credentials_->self.node.text)));
  }
  const Peer found{challenge.listener.node, challenge.listener.lifecycle};
  if (found != wanted_) {
    Actions actions = handshake::refuse(
        MeshRefusalReason::OtherRun,
        fmt::format("'{}' (lifecycle {}) was wanted, but '{}' (lifecycle {}) listens",
                    wanted_.node.text, to_string(wanted_.lifecycle), found.node.text,
                    to_string(found.lifecycle)));
    actions.back() = handshake::OtherRun{found};
    return end(std::move(actions));
  }
  is_listener_proven_ = true;
  state_ = State::AwaitsWelcome;
  wire::MeshResponse response{
      .dial = session_.dial, .adopted = session_.adopted, .received = session_.received};
  const Bytes unproven = wire::encode(response);
  response.proof =
      secret.prove(HandshakeSide::Dialler, hello_.view(), said, wire::without_proof(unproven));
  return {handshake::Say{SharedBytes(wire::encode(response))}};
}

Actions DialHandshake::end(Actions actions) {
  state_ = State::Ended;
  return actions;
}

}  // namespace spotmesh::mesh

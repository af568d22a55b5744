// The handshake of a mesh connection, one machine for each side. The transition tables are in
// framework/docs/mesh.md.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "mesh/peers.hpp"
#include "mesh/secret.hpp"
#include "wire/mesh_frame.hpp"

namespace spotmesh::mesh {

// What a node says of itself in every handshake.
struct Credentials {
  Peer self;
  std::string cluster;
  Secret secret;
};

namespace handshake {

// Actions.
struct Say {
  SharedBytes frame;
};
// Terminal. The handshake has failed, and both sides know why: close the connection. `reason` and
// `text` are for people and metrics.
struct Refused {
  bool is_by_peer = false;
  wire::MeshRefusalReason reason = wire::MeshRefusalReason::Malformed;
  std::string text;
};
// Terminal, dialler: the listener has proven that it is another run than the wanted one.
struct OtherRun {
  Peer found;
};
// Terminal, dialler: the listener takes the session up. `received` are its positions.
struct Welcomed {
  wire::MeshPositions received{};
};
// Terminal, listener: the dialler has proven who it is. Answer with a Welcome or a refusal.
struct Proven {
  Peer dialler;
  wire::MeshResponse response;
};
using Action = std::variant<Say, Refused, OtherRun, Welcomed, Proven>;
using Actions = std::vector<Action>;

// A refusal to be sent, and its note.
Actions refuse(wire::MeshRefusalReason reason, std::string text);

}  // namespace handshake

// A dialler proves itself only to a listener that has proven itself.
class DialHandshake {
 public:
  // What the dialler says of the session when it proves itself; see wire::MeshResponse.
  struct Session {
    std::uint64_t dial = 0;
    std::uint64_t adopted = 0;
    wire::MeshPositions received{};
  };
  enum class State : std::uint8_t { Ready, AwaitsChallenge, AwaitsWelcome, Ended };

  // `credentials` outlive the machine.
  DialHandshake(const Credentials& credentials, Peer wanted, Session session,
                wire::MeshNonce nonce);

  // The connection is up.
  handshake::Actions on_connected();
  handshake::Actions on_frame(ByteView bytes);
  State state() const { return state_; }
  // The listener has proven that it is the wanted run.
  bool is_listener_proven() const { return is_listener_proven_; }

 private:
  handshake::Actions end(handshake::Actions actions);
  handshake::Actions on(const wire::MeshChallenge& challenge, ByteView bytes);

  const Credentials* credentials_;
  Peer wanted_;
  Session session_;
  wire::MeshNonce nonce_;
  State state_ = State::Ready;
  bool is_listener_proven_ = false;
  SharedBytes hello_;
};

class AcceptHandshake {
 public:
  enum class State : std::uint8_t { AwaitsHello, AwaitsResponse, Ended };

  // `credentials` outlive the machine.
  AcceptHandshake(const Credentials& credentials, wire::MeshNonce nonce);

  handshake::Actions on_frame(ByteView bytes);
  State state() const { return state_; }

 private:
  handshake::Actions end(handshake::Actions actions);
  handshake::Actions on(const wire::MeshHello& hello, ByteView bytes);
  handshake::Actions on(const wire::MeshResponse& response, ByteView bytes);

  const Credentials* credentials_;
  wire::MeshNonce nonce_;
  State state_ = State::AwaitsHello;
  Peer dialler_;
  Peer wanted_;
  SharedBytes hello_;
  SharedBytes challenge_;
};

}  // namespace spotmesh::mesh

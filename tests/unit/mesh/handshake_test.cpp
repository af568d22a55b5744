// The handshake machines, by table.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "mesh/handshake.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using wire::MeshRefusalReason;
using Dial = DialHandshake::State;
using Accept = AcceptHandshake::State;

namespace {

const Credentials a{{NodeRid{"a"}, LifecycleId{1, 1}}, "table", Secret("open sesame")};
const Credentials b{{NodeRid{"b"}, LifecycleId{2, 2}}, "table", Secret("open sesame")};

constexpr wire::MeshNonce nonce_of(std::uint8_t first) {
  wire::MeshNonce nonce{};
  nonce[0] = std::byte{first};
  return nonce;
}

DialHandshake dial_from_a() {
  return {a, b.self, {.dial = 3, .adopted = 4, .received = {5, 6, 7}}, nonce_of(1)};
}

// The frame that is said first.
SharedBytes said(const handshake::Actions& actions) {
  REQUIRE_FALSE(actions.empty());
  const auto* say = std::get_if<handshake::Say>(&actions.front());
  REQUIRE(say != nullptr);
  return say->frame;
}

template <typename Action>
Action last(const handshake::Actions& actions) {
  REQUIRE_FALSE(actions.empty());
  REQUIRE(std::holds_alternative<Action>(actions.back()));
  return std::get<Action>(actions.back());
}

// This side refuses, and says the same to the other as to itself.
void check_refusal(const handshake::Actions& actions, MeshRefusalReason reason) {
  REQUIRE(actions.size() == 2);
  const auto refused = last<handshake::Refused>(actions);
  CHECK_FALSE(refused.is_by_peer);
  CHECK(refused.reason == reason);
  const auto frame = wire::decode_mesh_frame(said(actions).view());
  REQUIRE(frame.has_value());
  CHECK(std::get<wire::MeshRefusal>(*frame) == wire::MeshRefusal{reason, refused.text});
}

SharedBytes frame_of(const auto& frame) { return SharedBytes(wire::encode(frame)); }

// As far as the listener's Challenge.
struct Begun {
  explicit Begun(const Credentials& listener_credentials = b)
      : listener(listener_credentials, nonce_of(2)),
        hello(said(dialler.on_connected())),
        challenge(said(listener.on_frame(hello.view()))) {}

  DialHandshake dialler = dial_from_a();
  AcceptHandshake listener;
  SharedBytes hello;
  SharedBytes challenge;
};

}  // namespace

TEST_CASE("a handshake goes Hello, Challenge, Response, Welcome") {
  Begun begun;
  CHECK(begun.dialler.state() == Dial::AwaitsChallenge);
  CHECK(begun.listener.state() == Accept::AwaitsResponse);
  CHECK_FALSE(begun.dialler.is_listener_proven());
  const auto response = said(begun.dialler.on_frame(begun.challenge.view()));
  CHECK(begun.dialler.state() == Dial::AwaitsWelcome);
  CHECK(begun.dialler.is_listener_proven());
  const auto proven = last<handshake::Proven>(begun.listener.on_frame(response.view()));
  CHECK(begun.listener.state() == Accept::Ended);
  CHECK(proven.dialler == a.self);
  CHECK(proven.response.dial == 3);
  CHECK(proven.response.adopted == 4);
  CHECK(proven.response.received == wire::MeshPositions{5, 6, 7});
  const auto welcome = frame_of(wire::MeshWelcome{{8, 9, 10}});
  const auto welcomed = last<handshake::Welcomed>(begun.dialler.on_frame(welcome.view()));
  CHECK(welcomed.received == wire::MeshPositions{8, 9, 10});
  CHECK(begun.dialler.state() == Dial::Ended);
}

TEST_CASE("a secret is never sent, and each proof depends on all that was said", "[MESH-05]") {
  Begun begun;
  const auto response = said(begun.dialler.on_frame(begun.challenge.view()));
  for (const SharedBytes& frame : {begun.hello, begun.challenge, response}) {
    CHECK(as_text(frame.view()).find("open sesame") == std::string_view::npos);
  }
  // Any byte that an intruder changes on the way spoils the proof, whichever frame it is in.
  for (std::size_t at = 0; at < begun.hello.size(); ++at) {
    Bytes changed(begun.hello.view().begin(), begun.hello.view().end());
    changed[at] ^= std::byte{1};
    AcceptHandshake listener(b, nonce_of(2));
    const auto actions = listener.on_frame(changed);
    if (listener.state() == Accept::Ended) continue;
    DialHandshake dialler = dial_from_a();
    dialler.on_connected();
    check_refusal(dialler.on_frame(said(actions).view()), MeshRefusalReason::Secret);
  }
  for (std::size_t at = 0; at < response.size(); ++at) {
    Bytes changed(response.view().begin(), response.view().end());
    changed[at] ^= std::byte{1};
    AcceptHandshake listener(b, nonce_of(2));
    listener.on_frame(begun.hello.view());
    const auto refused = last<handshake::Refused>(listener.on_frame(changed));
    CHECK(refused.reason == (at == 0 ? MeshRefusalReason::Malformed : MeshRefusalReason::Secret));
  }
}

TEST_CASE("a Response is good for one connection only", "[MESH-05]") {
  Begun begun;
  const auto response = said(begun.dialler.on_frame(begun.challenge.view()));
  AcceptHandshake another(b, nonce_of(3));
  another.on_frame(begun.hello.view());
  check_refusal(another.on_frame(response.view()), MeshRefusalReason::Secret);
}

TEST_CASE("a listener that says it is another run is believed only with its proof", "[MESH-05]") {
  const Credentials restarted{{NodeRid{"b2"}, LifecycleId{2, 3}}, "table", Secret("open sesame")};
  Begun begun(restarted);
  const auto actions = begun.dialler.on_frame(begun.challenge.view());
  CHECK(last<handshake::OtherRun>(actions).found == restarted.self);
  const auto frame = wire::decode_mesh_frame(said(actions).view());
  CHECK(std::get<wire::MeshRefusal>(*frame).reason == MeshRefusalReason::OtherRun);
  const auto refused = last<handshake::Refused>(begun.listener.on_frame(said(actions).view()));
  CHECK(refused.is_by_peer);

  const Credentials liar{restarted.self, "table", Secret("open barley")};
  Begun lied(liar);
  check_refusal(lied.dialler.on_frame(lied.challenge.view()), MeshRefusalReason::Secret);
}

TEST_CASE("a dialler that goes on although another run was wanted is refused") {
  const Credentials restarted{{NodeRid{"b2"}, LifecycleId{2, 3}}, "table", Secret("open sesame")};
  AcceptHandshake listener(restarted, nonce_of(2));
  DialHandshake dialler = dial_from_a();
  const auto hello = said(dialler.on_connected());
  const auto challenge = said(listener.on_frame(hello.view()));
  wire::MeshResponse response;
  const Bytes unproven = wire::encode(response);
  response.proof =
      a.secret.prove(HandshakeSide::Dialler, hello.view(), wire::without_proof(challenge.view()),
                     wire::without_proof(unproven));
  check_refusal(listener.on_frame(frame_of(response).view()), MeshRefusalReason::OtherRun);
}

TEST_CASE("in each state a frame out of turn, or no frame, ends the handshake", "[MESH-05]") {
  Begun begun;
  const auto response = said(begun.dialler.on_frame(begun.challenge.view()));
  const std::vector<SharedBytes> all = {begun.hello,
                                        begun.challenge,
                                        response,
                                        frame_of(wire::MeshWelcome{}),
                                        frame_of(wire::MeshData{0, true, 1, {}}),
                                        frame_of(wire::MeshAcknowledgement{}),
                                        frame_of(wire::MeshFarewell{}),
                                        SharedBytes::copy_of(as_bytes("nonsense"))};
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("frame " << i);
    AcceptHandshake fresh(b, nonce_of(2));
    if (i != 0) check_refusal(fresh.on_frame(all[i].view()), MeshRefusalReason::Malformed);
    AcceptHandshake greeted(b, nonce_of(2));
    greeted.on_frame(begun.hello.view());
    if (i != 2) check_refusal(greeted.on_frame(all[i].view()), MeshRefusalReason::Malformed);
    DialHandshake awaits_challenge = dial_from_a();
    awaits_challenge.on_connected();
    if (i != 1)
      check_refusal(awaits_challenge.on_frame(all[i].view()), MeshRefusalReason::Malformed);
    DialHandshake awaits_welcome = dial_from_a();
    awaits_welcome.on_connected();
    awaits_welcome.on_frame(begun.challenge.view());
    if (i != 3) check_refusal(awaits_welcome.on_frame(all[i].view()), MeshRefusalReason::Malformed);
  }
}

TEST_CASE("a handshake that has ended says nothing more") {
  AcceptHandshake listener(b, nonce_of(2));
  listener.on_frame(as_bytes("nonsense"));
  Begun begun;
  CHECK(listener.on_frame(begun.hello.view()).empty());
  const auto refusal = frame_of(wire::MeshRefusal{MeshRefusalReason::NoRoom, "full"});
  const auto refused = last<handshake::Refused>(begun.dialler.on_frame(refusal.view()));
  CHECK(refused.is_by_peer);
  CHECK(refused.reason == MeshRefusalReason::NoRoom);
  CHECK(refused.text == "full");
  CHECK(begun.dialler.on_frame(begun.challenge.view()).empty());
  CHECK(begun.dialler.on_connected().empty());
}

TEST_CASE("HMAC-SHA-256 is what everybody else means by it") {
  // As Python's hmac module computes it, from the side and each part behind its length.
  const Secret secret("key");
  const auto proof =
      secret.prove(HandshakeSide::Listener, as_bytes("hello"), as_bytes("challenge"));
  std::string hex;
  for (const std::byte byte : proof) {
    constexpr std::string_view digits = "0123456789abcdef";
    hex += digits[std::to_integer<std::size_t>(byte >> 4)];
    hex += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  CHECK(hex == "1122ca06f90390c12505632960c073de7f6b8a7ed2388c9d50b4427ecda73805");
  CHECK_FALSE(Secret::is_same(
      proof, secret.prove(HandshakeSide::Dialler, as_bytes("hello"), as_bytes("challenge"))));
  CHECK_FALSE(Secret::is_same(
      proof, secret.prove(HandshakeSide::Listener, as_bytes("helloc"), as_bytes("hallenge"))));
}

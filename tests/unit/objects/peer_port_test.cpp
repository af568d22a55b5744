// The protocol between the object sides of nodes: bytes of anybody, calls and their ends.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "desk.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_topics.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// A message without a body.
SharedBytes bare(PeerKind kind, std::uint64_t call) { return peer_bytes(kind, call, nullptr); }

SharedBytes bytes_of(std::size_t count) { return SharedBytes(Bytes(count, std::byte{1})); }

}  // namespace

TEST_CASE("a header keeps kind and call, and a damaged one is a protocol error") {
  const mesh::Peer peer{NodeRid{"other"}, LifecycleId{1, 2}};
  const SharedBytes bytes = bare(PeerKind::Fence, 0x0102030405060708);
  CHECK(bytes.size() == peer_header_bytes);
  const auto opened = open_peer_message(peer, bytes);
  REQUIRE(opened.has_value());
  CHECK(opened->from == peer);
  CHECK(opened->kind == PeerKind::Fence);
  CHECK(opened->call == 0x0102030405060708);
  CHECK(opened->body().empty());
  check_error(open_peer_message(peer, SharedBytes(Bytes(15))), ErrorKind::ProtocolError, "other");
  Bytes reserved(bytes.view().begin(), bytes.view().end());
  reserved[5] = std::byte{1};
  check_error(open_peer_message(peer, SharedBytes(reserved)), ErrorKind::ProtocolError, "Fence");
}

TEST_CASE("bytes that break the protocol are counted, and a call with them is answered") {
  Desk desk;
  desk.receive(bytes_of(3));
  CHECK(desk.unsound() == 1);
  CHECK(desk.peers.sent.empty());
  // A kind that nobody knows, as of a newer version: told so, if it was a call.
  desk.receive(bare(static_cast<PeerKind>(999), 0));
  CHECK(desk.unsound() == 2);
  CHECK(desk.peers.sent.empty());
  desk.receive(bare(static_cast<PeerKind>(999), 7));
  CHECK(desk.unsound() == 3);
  REQUIRE(desk.peers.sent.size() == 1);
  CHECK(desk.peers.sent[0].to == desk.other);
  CHECK(desk.peers.sent[0].message.kind == PeerKind::Failure);
  CHECK(desk.peers.sent[0].message.call == 7);

  // Every kind that comes unasked and has a body, with none and with bodies that are none.
  const std::vector<PeerKind> kinds = {
      PeerKind::Send,        PeerKind::Request,    PeerKind::Stale,    PeerKind::Destroy,
      PeerKind::Close,       PeerKind::Create,     PeerKind::Admitted, PeerKind::Withdraw,
      PeerKind::Publication, PeerKind::TopicChange};
  auto random = desk.one.sim.world.random("bodies");
  for (const PeerKind kind : kinds) {
    for (std::size_t size : {0, 1, 7, 8, 40, 200}) {
      const auto before = desk.unsound();
      const SharedBytes header = bare(kind, 9);
      Bytes bytes(header.view().begin(), header.view().end());
      for (std::size_t i = 0; i < size; ++i) {
        bytes.push_back(static_cast<std::byte>(random.next_u64() & 0xff));
      }
      desk.receive(SharedBytes(std::move(bytes)));
      CHECK(desk.unsound() == before + 1);
      CHECK(desk.peers.sent.back().message.kind == PeerKind::Failure);
    }
  }
}

TEST_CASE("a call ends with its answer, once, and only with that of the peer it was made to") {
  Desk desk;
  std::vector<Result<PeerMessage>> answers;
  const auto call = desk.call(answers);
  CHECK(desk.peers.sent.back().message.call == call);
  desk.port().on_message(desk.third, mesh::Lane::Control, bare(PeerKind::FenceAnswer, call));
  CHECK(answers.empty());
  CHECK(desk.late() == 1);
  desk.port().on_message(desk.other, mesh::Lane::Control, bare(PeerKind::FenceAnswer, call));
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].has_value());
  CHECK(answers[0]->kind == PeerKind::FenceAnswer);
  desk.port().on_message(desk.other, mesh::Lane::Control, bare(PeerKind::FenceAnswer, call));
  CHECK(answers.size() == 1);
  CHECK(desk.late() == 2);
}

TEST_CASE("a failure is the error that the peer gave, whatever its text", "[ERR-06]") {
  Desk desk;
  for (std::uint8_t number = 0; number < error_kind_count; ++number) {
    std::vector<Result<PeerMessage>> answers;
    const auto call = desk.call(answers);
    const Error error(static_cast<ErrorKind>(number), std::string(number * 1000, 'x'));
    PeerMessage asked{desk.other, PeerKind::Fence, call, {}};
    desk.port().refuse(asked, mesh::Lane::Control, error);
    desk.receive(desk.peers.sent.back().message.bytes);
    REQUIRE(answers.size() == 1);
    REQUIRE_FALSE(answers[0].has_value());
    CHECK(answers[0].error().kind() == error.kind());
    CHECK(answers[0].error().message() == error.message().substr(0, limits::peer_error_bytes));
  }
}

TEST_CASE("the end of a peer's run ends the calls to it and no other", "[MESH-02]") {
  Desk desk;
  std::vector<Result<PeerMessage>> answers;
  for (int i = 0; i < 40; ++i) desk.call(answers);
  desk.port().on_ended(desk.third, Error::unavailable("gone"));
  CHECK(answers.empty());
  desk.port().on_ended(desk.other, Error::unavailable("gone for good"));
  REQUIRE(answers.size() == 40);
  for (const auto& answer : answers) check_error(answer, ErrorKind::Unavailable, "gone for good");
}

TEST_CASE("a call is forgotten at its deadline, and what comes then is late") {
  Desk desk;
  std::vector<Result<PeerMessage>> answers;
  const auto soon = desk.call(answers, desk.now() + 500ms);
  const auto later = desk.call(answers, desk.now() + 5s);
  const auto never = desk.call(answers);
  desk.one.run_for(2s);
  desk.receive(bare(PeerKind::FenceAnswer, soon));
  CHECK(answers.empty());
  CHECK(desk.late() == 1);
  desk.receive(bare(PeerKind::FenceAnswer, later));
  CHECK(answers.size() == 1);
  desk.port().forget(never);
  desk.receive(bare(PeerKind::FenceAnswer, never));
  CHECK(answers.size() == 1);
  CHECK(desk.late() == 2);
}

TEST_CASE("an answer that finds its lane full ends the call as Unavailable") {
  Desk desk;
  desk.peers.full_lanes = {mesh::Lane::Messages};
  const PeerMessage asked{desk.other, PeerKind::Request, 5, {}};
  desk.port().answer(asked, mesh::Lane::Messages, PeerKind::Reply, nullptr);
  REQUIRE(desk.peers.sent.size() == 1);
  CHECK(desk.peers.sent[0].lane == mesh::Lane::Control);
  CHECK(desk.peers.sent[0].message.kind == PeerKind::Failure);
  CHECK(desk.peers.sent[0].message.call == 5);
  CHECK(desk.one->metrics().unsent_answers.value() == 1);
}

TEST_CASE("a call that ends with its peer's run while it is being sent is answered, and only that",
          "[MESH-02]") {
  Desk desk;
  std::vector<Result<PeerMessage>> answers;
  desk.peers.full_lanes = {mesh::Lane::Control};
  desk.peers.on_send = [&] { desk.port().on_ended(desk.other, Error::unavailable("gone")); };
  desk.call(answers);  // does not fail
  REQUIRE(answers.size() == 1);
  check_error(answers[0], ErrorKind::Unavailable, "gone");
}

TEST_CASE("so many messages of a peer wait for the strand, and those of another as well") {
  Desk desk;
  const auto receive = [&](const mesh::Peer& from) {
    desk.port().on_message(from, mesh::Lane::Control, bare(PeerKind::Destroy, 7));
  };
  for (std::size_t i = 0; i < PeerPort::jobs_per_peer; ++i) receive(desk.other);
  CHECK(desk.peers.sent.empty());
  receive(desk.other);
  auto sent = desk.peers.take();
  REQUIRE(sent.size() == 1);
  check_error(Result<void>(fail(read_failure(sent[0].message))), ErrorKind::Unavailable, "already");
  receive(desk.third);
  CHECK(desk.peers.sent.empty());
  desk.one.run_for(1s);
  sent = desk.peers.take();
  CHECK(sent.size() == PeerPort::jobs_per_peer + 1);
  for (const auto& each : sent) {
    CHECK(read_failure(each.message).kind() == ErrorKind::ProtocolError);
  }
  receive(desk.other);
  CHECK(desk.peers.sent.empty());
}

TEST_CASE("a publisher whom nobody hears is told so once, until it has seen that", "[PUB-02]") {
  Desk desk;
  const TopicKey topic{"play", {"news", "win"}};
  const auto body = publication(topic, Message::of(probe::Note{.text = "x"}));
  const auto publish = [&](int times) {
    for (int i = 0; i < times; ++i) desk.receive(PeerKind::Publication, 0, body);
    return desk.peers.take();
  };
  const auto told = publish(100);
  REQUIRE(told.size() == 1);
  CHECK(told[0].to == desk.other);
  REQUIRE(told[0].message.kind == PeerKind::TopicChange);
  CHECK_FALSE(read_topic_change(told[0].message)->has_subscriber);
  CHECK(publish(100).empty());
  desk.receive(bare(PeerKind::TopicChangeSeen, told[0].message.call));
  CHECK(publish(100).size() == 1);
  desk.port().on_ended(desk.other, Error::unavailable("gone"));
  desk.one.run_for(1ms);
  CHECK(publish(1).size() == 1);
}

// The protocol between the object sides of nodes: bytes of anybody, calls and their ends.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "objects/peer_port.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// A message without a body.
SharedBytes bare(PeerKind kind, std::uint64_t call) { return peer_bytes(kind, call, nullptr); }

// Keeps what it is given to send.
class RecordedPeers final : public mesh::Peers {
 public:
  struct Sent {
    mesh::Peer to;
    mesh::Lane lane;
    PeerMessage message;
  };
  Result<void> send(const mesh::Peer& to, mesh::Lane lane, SharedBytes bytes) override {
    if (full_lanes.contains(lane)) return fail(Error::unavailable("the lane is full"));
    sent.push_back({to, lane, *open_peer_message(to, std::move(bytes))});
    return {};
  }
  void end(const mesh::Peer& peer, const Error&) override { ended.push_back(peer); }
  bool is_over(const mesh::Peer& peer) const override {
    return std::ranges::find(ended, peer) != ended.end();
  }

  std::set<mesh::Lane> full_lanes;
  std::vector<Sent> sent;
  std::vector<mesh::Peer> ended;
};

struct Desk {
  Desk() { one->core().peers->set_peers(peers); }
  PeerPort& port() { return *one->core().peers; }
  void receive(SharedBytes bytes) {
    port().on_message(other, mesh::Lane::Messages, std::move(bytes));
    one.run_for(1ms);
  }
  void receive(const std::vector<int>& bytes) {
    Bytes all;
    for (const int byte : bytes) all.push_back(static_cast<std::byte>(byte));
    receive(SharedBytes(std::move(all)));
  }
  std::uint64_t call(std::vector<Result<PeerMessage>>& answers, Instant deadline = Instant::max()) {
    auto number = port().call(other, mesh::Lane::Control, PeerKind::Fence, nullptr, deadline,
                              [&](Result<PeerMessage> answer) { answers.push_back(answer); });
    REQUIRE(number.has_value());
    return *number;
  }
  auto unsound() { return one->metrics().unsound_peer_messages.value(); }
  auto late() { return one->metrics().late_replies.value(); }

  const mesh::Peer other{NodeRid{"other"}, LifecycleId{1, 2}};
  const mesh::Peer third{NodeRid{"third"}, LifecycleId{3, 4}};
  RecordedPeers peers;
  OneNode one;
};

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
  desk.receive({1, 2, 3});
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

  // Every kind that is handled, with no body and with bodies that are none.
  const std::vector<PeerKind> kinds = {PeerKind::Send, PeerKind::Request, PeerKind::Stale,
                                       PeerKind::Destroy, PeerKind::Close};
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
  const auto soon = desk.call(answers, desk.one->sim().clock().now() + 500ms);
  const auto later = desk.call(answers, desk.one->sim().clock().now() + 5s);
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

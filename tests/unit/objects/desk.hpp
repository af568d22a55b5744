// A Desk: one node whose peers are a test.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "objects/peer_port.hpp"
#include "one_node.hpp"

namespace spotmesh::objects {

// Keeps what it is given to send.
class RecordedPeers final : public mesh::Peers {
 public:
  struct Sent {
    mesh::Peer to;
    mesh::Lane lane;
    PeerMessage message;
  };
  Result<void> send(const mesh::Peer& to, mesh::Lane lane, SharedBytes bytes) override {
    if (on_send) on_send();
    if (full_lanes.contains(lane)) return fail(Error::unavailable("the lane is full"));
    sent.push_back({to, lane, *open_peer_message(to, std::move(bytes))});
    return {};
  }
  void end(const mesh::Peer& peer, const Error&) override { ended.push_back(peer); }
  bool is_over(const mesh::Peer& peer) const override {
    return std::ranges::find(ended, peer) != ended.end();
  }
  std::vector<Sent> take() { return std::exchange(sent, {}); }

  std::function<void()> on_send;
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
  // A call of the other node's.
  void receive(PeerKind kind, std::uint64_t call, const flatbuffers::FlatBufferBuilder& body) {
    receive(peer_bytes(kind, call, &body));
  }
  std::uint64_t call(std::vector<Result<PeerMessage>>& answers, Instant deadline = Instant::max()) {
    auto number = port().call(other, mesh::Lane::Control, PeerKind::Fence, nullptr, deadline,
                              [&](Result<PeerMessage> answer) { answers.push_back(answer); });
    REQUIRE(number.has_value());
    return *number;
  }
  auto unsound() { return one->metrics().unsound_peer_messages.value(); }
  auto late() { return one->metrics().late_replies.value(); }
  Instant now() { return one->sim().clock().now(); }

  const mesh::Peer other{NodeRid{"other"}, LifecycleId{1, 2}};
  const mesh::Peer third{NodeRid{"third"}, LifecycleId{3, 4}};
  RecordedPeers peers;
  OneNode one;
};

}  // namespace spotmesh::objects

// PeerCalls: what this node has asked of its peers and has no answer to yet.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/peer_message.hpp"
#include "runtime/timers.hpp"

namespace spotmesh::objects {

class Core;

// Called at most once, on whatever thread the outcome comes: the peer's answer (of any kind but
// Failure), or why there is none. It only hands over. Never called when the deadline has passed:
// whoever waits has a timer of his own.
using PeerAnswer = std::function<void(Result<PeerMessage>)>;

// Any thread. A call ends with the first of the peer's answer, the end of the peer's run, forget()
// or its deadline, and end_all(); its number is never given again, so that what comes later meets
// nothing.
class PeerCalls final : private runtime::TimerEntry {
 public:
  explicit PeerCalls(Core& core) : core_(core) {}
  ~PeerCalls() override;
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  // The new call's number. It is forgotten within a second from its deadline; Instant::max():
  // never.
  std::uint64_t open(const mesh::Peer& to, Instant deadline, PeerAnswer answer);
  // Nobody waits for it any more. False: it has ended before.
  bool forget(std::uint64_t call);
  // False: nobody waits for it, or another peer was asked.
  bool answer(PeerMessage message);

  void end(const mesh::Peer& peer, const Error& reason);
  void end_all(const Error& reason);

 private:
  struct Open {
    mesh::Peer to;
    Instant deadline;
    PeerAnswer answer;
  };
  struct Shard {
    std::mutex mutex;
    std::map<std::uint64_t, Open> calls;
    std::set<std::pair<Instant, std::uint64_t>> by_deadline;
  };
  static constexpr std::size_t shard_count = 16;

  Shard& shard_of(std::uint64_t call) { return shards_[call % shard_count]; }
  void on_timer(Instant now) override;
  void arm_if_idle();
  static void erase(Shard& shard, std::map<std::uint64_t, Open>::iterator call);
  void finish(std::vector<PeerAnswer>& ended, const Error& reason);

  Core& core_;
  std::atomic<std::uint64_t> last_{0};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> is_armed_{false};
  std::array<Shard, shard_count> shards_;
};

}  // namespace spotmesh::objects

// PeerPort: the mesh as the object side of a node uses it: messages by kind, calls and answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/peer_calls.hpp"
#include "objects/peer_message.hpp"
#include "objects/transit_clock.hpp"

namespace spotmesh::objects {

class Core;

// A process without a mesh link has a port without peers: whatever is sent is Unavailable. Any
// thread, but for what is set before the start.
class PeerPort final : public mesh::PeerHandler {
 public:
  // What is done about one message. An error means that its bytes break the protocol: it is logged,
  // counted, and a call is answered with it.
  using Handler = std::function<Result<void>(const PeerMessage&)>;
  // The peer's run is over; calls that wait for it are ended next.
  using Ended = std::function<void(const mesh::Peer&, const Error&)>;

  explicit PeerPort(Core& core);

  // Before the start. `peers` outlives what the node does from its start to its end.
  void set_peers(mesh::Peers& peers) { peers_ = &peers; }
  // On the thread that brings the message, in the order of its lane: to hand over, no more.
  void handle(PeerKind kind, Handler handler);
  // As a job of the strand. A call that finds jobs_per_peer of its peer's jobs waiting there is
  // answered with Unavailable.
  void handle_on_strand(PeerKind kind, Handler handler);
  void on_peer_ended(Ended ended) { told_ended_.push_back(std::move(ended)); }

  bool has_peers() const { return peers_ != nullptr; }
  bool is_over(const mesh::Peer& peer) const { return has_peers() && peers_->is_over(peer); }
  // Whether there is a session with it in which it has said something.
  bool has_heard(const mesh::Peer& peer);
  // The error is Unavailable: the lane to the peer is full, its address unknown or its run over, or
  // there is no mesh. InvalidOperation: the message is too long.
  Result<void> send(const mesh::Peer& to, mesh::Lane lane, SharedBytes bytes);
  // Sends and waits for the answer, which may come within the call. When it fails, `answer` is
  // never called. The value is the number to forget() the call by. `body` is finished, or null.
  Result<std::uint64_t> call(const mesh::Peer& to, mesh::Lane lane, PeerKind kind,
                             const flatbuffers::FlatBufferBuilder* body, Instant deadline,
                             PeerAnswer answer);
  void forget(std::uint64_t call) { calls_.forget(call); }
  // Answers a call; does nothing when there is none to answer. `body` is finished, or null.
  void answer(const PeerMessage& call, mesh::Lane lane, PeerKind kind,
              const flatbuffers::FlatBufferBuilder* body);
  void refuse(const PeerMessage& call, mesh::Lane lane, const Error& error);
  // Answers a request of a game, behind what was said in the lane of messages before.
  void reply(const PeerMessage& call, const Result<Message>& outcome);

  // A job of the strand for the sake of that peer, from the thread that brings a message of it.
  // False: jobs_per_peer of them wait already.
  bool post(const mesh::Peer& peer, std::function<void(Core&)> job);
  // When the time of that call is over, which said what was left of it and its sender's clock. What
  // it has waited on its way is taken off.
  Instant deadline_of(const PeerMessage& message, std::uint64_t remaining, std::int64_t sent_at);

  // This node ends: every call with it.
  void end_calls(const Error& reason) { calls_.end_all(reason); }
  // That run of the node is known to be over: see mesh::Peers::end().
  void end(const mesh::Peer& peer, const Error& reason);

  void on_message(const mesh::Peer& from, mesh::Lane lane, SharedBytes bytes) override;
  void on_ended(const mesh::Peer& peer, const Error& reason) override;

  static constexpr std::size_t jobs_per_peer = 4096;

 private:
  struct Entry {
    Handler handler;
    bool is_on_strand = false;
  };
  // What is known of a peer while its session lasts.
  struct Heard {
    TransitClock transit;
    std::size_t jobs = 0;         // on the strand, not finished
    bool has_overflowed = false;  // since there was none
  };

  void run(const PeerMessage& message, mesh::Lane lane, const Handler& handler);
  void drop(const Error& error);
  void finished_job(const mesh::Peer& peer);

  Core& core_;
  mesh::Peers* peers_ = nullptr;
  std::map<PeerKind, Entry> handlers_;
  std::vector<Ended> told_ended_;
  PeerCalls calls_;
  std::mutex mutex_;
  std::map<mesh::Peer, Heard> heard_;
};

// `answer` as a job of the strand; nothing is called once the node has ended.
PeerAnswer on_strand(Core& core, PeerAnswer answer);

}  // namespace spotmesh::objects

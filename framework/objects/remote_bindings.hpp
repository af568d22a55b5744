// RemoteBindings: bindings of this node's client sessions to Actors of other nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/peer_message.hpp"
#include "objects/session_routes.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// The session's end of such a binding; RemoteSessions is the Actor's. The table is in
// framework/docs/sessions.md. What one binding says to the Actor's node goes along one lane, so
// that it is done there in the order in which it was said here.
class RemoteBindings {
 public:
  using Done = std::function<void(Result<void>)>;

  explicit RemoteBindings(Core& core);
  ~RemoteBindings();

  // Strand only, as the next two. `ref` names the Actor that `owner` is known to have. As
  // Bindings::bind.
  void bind(const mesh::Peer& owner, ActorRef ref, const BindingIdentity& binding, Instant deadline,
            Done done);
  // As of Bindings, of a binding that has(); it is no longer one of these.
  void unbind(const BindingIdentity& binding, Instant deadline, Done done);
  void session_ended(const BindingIdentity& binding);

  // Any thread. Whether the binding leads to another node, or did when it was last heard of.
  bool has(const BindingIdentity& binding) const;
  // As Bindings::relay; InvalidOperation when there is no such binding.
  Result<void> relay(const BindingIdentity& binding, const Message& message,
                     const std::optional<Instant>& deadline,
                     const std::shared_ptr<ReplyFunction>& reply);

  // At one time. Those whose end is still to be told to the Actor's node count as well.
  static constexpr std::size_t most_routes = 262'144;

 private:
  // By its generation, which no other binding of this node run has.
  struct Route {
    ActorRef actor;
    BindingIdentity binding;
    mesh::Peer owner;
    std::uint64_t sent = 0;   // packets
    std::uint64_t taken = 0;  // of them, as far as the owner has said
    bool is_ending = false;   // the owner does not know yet
    bool has_disconnected = false;
  };
  struct Asked;
  // A bind whose owner's address is not known yet.
  struct Unreached {
    mesh::Peer owner;
    ActorRef ref;
    BindingIdentity binding;
    Instant deadline;
    Done done;
  };

  // Whether the owner can be asked, or there is no use in waiting until it can.
  bool is_settled(const Unreached& bind) const;
  void look_again();
  void begin_bind(const mesh::Peer& owner, ActorRef ref, const BindingIdentity& binding,
                  Instant deadline, Done done);
  bool add(Route route);
  std::optional<Route> extract(std::uint64_t generation);
  // It is no longer one of those that has(). Nothing when it has ended meanwhile.
  std::optional<Route> begin_end(std::uint64_t generation, bool has_disconnected);
  // The route if it is one of that peer's and goes on.
  Route* find_locked(const BindingIdentity& binding, const mesh::Peer& owner);

  // Asks the owner, to the deadline and no longer.
  void ask(const Route& route, PeerKind kind, const flatbuffers::FlatBufferBuilder& body,
           Instant deadline, Done done);
  void finish(std::uint64_t generation, Result<void> result);
  void on_late(std::uint64_t generation, PeerKind kind, std::uint64_t call, std::string what);
  // Nobody waits for what the owner says of it.
  void end_quietly(std::uint64_t generation, bool has_disconnected);
  // False: the lane to the owner has no room.
  bool say_end(const Route& route);
  void say_unsaid();
  void owner_ended(const mesh::Peer& owner, const Error& reason);

  Result<void> receive_taken(const PeerMessage& message);
  Result<void> receive_push(const PeerMessage& message);
  Result<void> receive_news(const PeerMessage& message);
  mesh::Peer here() const;

  Core& core_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Route> routes_;
  // Strand only.
  std::map<std::uint64_t, std::unique_ptr<Asked>> asked_;
  std::set<std::uint64_t> unsaid_;  // ends for which the lanes had no room
  StrandTimer timer_;
  std::vector<Unreached> unreached_;
  StrandTimer look_timer_;
};

}  // namespace spotmesh::objects

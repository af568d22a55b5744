// RemoteSessions: the client sessions that Actors of this node are bound to, on whatever node.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "mesh/peers.hpp"
#include "objects/actor_cell.hpp"
#include "objects/binding_bodies.hpp"
#include "objects/envelope.hpp"
#include "objects/peer_message.hpp"
#include "objects/session_routes.hpp"
#include "objects/store_port.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;

// What is said to a session of this node goes on to its gateway. For those of other nodes it is the
// Actor's end of the binding; RemoteBindings is the session's. The table is in
// framework/docs/sessions.md.
class RemoteSessions final : public SessionRoutes {
 public:
  explicit RemoteSessions(Core& core);

  Result<void> push(const BindingIdentity& binding, const Message& message) override;
  void disconnect(const BindingIdentity& binding, std::string reason) override;
  void on_replaced(const BindingIdentity& old_binding, const ActorRef& actor) override;
  void on_actor_gone(const BindingIdentity& binding, const ActorId& actor) override;
  // By another binding of the same session, which knows.
  void superseded(const BindingIdentity& former);

  // The node has ended.
  void let_go();

  // At one time. Those whose end is still to be told to the session's node count as well.
  static constexpr std::size_t most_bindings = 262'144;

 private:
  // The run that the session lives on, and the binding's generation.
  using Key = std::pair<LifecycleId, std::uint64_t>;
  struct Entry {
    BindingIdentity binding;
    runtime::Ref<ActorCell> actor;          // null: it is not bound yet
    std::uint64_t received = 0;             // packets
    std::uint64_t told = 0;                 // how many of them the sender knows to be taken
    std::deque<Envelope> waiting;           // the last of them, while the mailbox is full
    bool is_ending = false;                 // the session's node has said so
    std::optional<std::string> disconnect;  // has still to be said, as the next
    std::optional<BindingEvent> end;
  };
  using Refused = std::vector<std::pair<Envelope, Error>>;

  static Key key_of(const BindingIdentity& binding) {
    return {binding.session_owner, binding.generation};
  }
  static mesh::Peer node_of(const BindingIdentity& binding) {
    return {binding.session_node, binding.session_owner};
  }
  bool is_here(const BindingIdentity& binding) const;
  // Whether the Actor may be bound so, or is; null when there is no such entry.
  Entry* find_locked(const BindingIdentity& binding);
  std::optional<Entry> extract(const Key& key);

  Result<void> receive_bind(const PeerMessage& message);
  void do_bind(const PeerMessage& call, const AskedBind& asked, Instant deadline);
  Result<void> begin_bind(const AskedBind& asked, Instant deadline);
  Result<void> receive_unbind(const PeerMessage& message);
  // On the strand: takes what still finds room in the mailbox, then ends the binding.
  void end(const Key& key, bool has_disconnected);
  void session_node_ended(const mesh::Peer& node);

  Result<void> receive_packet(const PeerMessage& message);
  // Into the mailbox, or behind those that wait for room there.
  Result<void> take(const PeerMessage& message, const ReadSessionPacket& packet,
                    Envelope& envelope);
  // Until there is no more room.
  void take_waiting_locked(Entry& entry, Refused& refused);
  void tell_taken_locked(const Key& key, Entry& entry);

  // False: the session is none of another node.
  bool end_of_actor(const BindingIdentity& binding, BindingEvent event);
  // False: the lane has no room.
  bool say(const BindingIdentity& binding, BindingEvent event, std::string_view reason);
  // What has found no room is tried again.
  void stick_locked(const Key& key);
  void look_again();
  // Whether there is nothing left to try.
  bool try_again_locked(const Key& key, Entry& entry, Refused& refused);
  void refuse(const Refused& refused);

  Core& core_;
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::set<Key> stuck_;
  StrandTimer timer_;  // strand only
};

}  // namespace spotmesh::objects

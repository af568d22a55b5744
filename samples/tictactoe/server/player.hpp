// A player: everything that is true of one person, wherever that person is.
#pragma once

#include <string>
#include <string_view>

#include <spotmesh/spotmesh.hpp>

#include "internal.packets.hpp"
#include "server/game_options.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

class Player : public spotmesh::Actor {
 public:
  Player(spotmesh::ActorContext& context, const GameOptions& options);

  // What a player answers wherever it is; Lobby and Room handle the rest.
  static void handlers(spotmesh::ActorHandlers<Player>& on);

  // Whoever shows the token later is this player.
  void introduce(const internal::CreatePlayer& request);
  const std::string& name() const { return state_.name; }
  const internal::PlayerState& state() const { return state_; }
  void set_state(internal::PlayerState state) { state_ = std::move(state); }

  // The way into a room begins, in `role`; its end is enter_room() or on_join_completed().
  spotmesh::Result<void> go_to(std::string room, Role role);
  spotmesh::Result<void> go_to_lobby();
  Role role() const { return role_; }
  void enter_room(std::string room);
  void enter_lobby();

  // The client is gone; unless it comes back in time, PlayerGone is sent to where the player is.
  void begin_absence();
  // Whether the client has been gone for too long.
  bool is_away() const { return state_.is_away && !is_connected(); }
  bool is_connected() const { return context().bound_session().is_bound(); }

  // Shows the client a packet, if there is one.
  template <spotmesh::Packet P>
  void push(const P& packet) {
    if (is_connected()) std::ignore = context().bound_session().send(packet);
  }

  spotmesh::Task<void> on_join_completed(const spotmesh::JoinCompletion& completion) override;

 private:
  spotmesh::Result<internal::Authenticated> authenticate(const internal::Authenticate& request);
  void show_rooms(const RoomListNotify& rooms);
  void absence_has_ended();
  void turned_away(const spotmesh::JoinRejected& rejected);
  void did_not_arrive(const spotmesh::Error& error);

  // For what only a room, or only the lobby, can do.
  template <spotmesh::Packet Reply, spotmesh::Packet P>
  spotmesh::Result<Reply> not_here(const P&) {
    return fail(not_possible_here(spotmesh::PacketTraits<P>::descriptor().name));
  }
  spotmesh::Error not_possible_here(std::string_view packet) const;

  GameOptions options_;
  internal::PlayerState state_;
  std::string destination_;  // the room that is being entered
  Role role_ = Role::Player;
};

// What moves with a player to another node.
struct PlayerRelocation {
  spotmesh::Bytes capture(const Player& player);
  void restore(Player& player, const spotmesh::Bytes& state);
};

}  // namespace tictactoe

// The lobby: where players arrive, look for a room, and return to.
#pragma once

#include <spotmesh/spotmesh.hpp>

#include "internal.packets.hpp"
#include "server/player.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

// Players in the lobby act at the same time, so their handlers change nothing but the player.
class Lobby : public spotmesh::EntrySpot<Player> {
 public:
  using EntrySpot::EntrySpot;
  static void handlers(spotmesh::Handlers<Lobby>& on);

  spotmesh::Task<spotmesh::CreateDecision> on_create_actor(
      Player& player, const spotmesh::Message& request) override;
  spotmesh::Task<void> on_joined_actor(Player& player) override;
  spotmesh::Task<void> on_leave_actor(Player& player) override;
  spotmesh::Task<void> on_disconnect_actor(Player& player) override;

 private:
  SyncResult sync(Player& player, const Sync&) const;
  spotmesh::Task<spotmesh::Result<RoomList>> list_rooms(Player& player, const ListRooms&) const;
  spotmesh::Task<spotmesh::Result<Entering>> open_room(Player& player, const OpenRoom& open) const;
  spotmesh::Result<Entering> join_room(Player& player, const JoinRoom& join) const;
  spotmesh::Result<Entering> spectate(Player& player, const Spectate& spectate) const;
  spotmesh::Result<void> player_gone(Player& player, const internal::PlayerGone&) const;

  spotmesh::Task<spotmesh::Result<void>> ensure_directory(Player& player) const;
  void stop_telling(Player& player);
};

}  // namespace tictactoe

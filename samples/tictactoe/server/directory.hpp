// The directory: which rooms there are, for everybody in the lobby.
#pragma once

#include <map>
#include <set>
#include <string>

#include <spotmesh/spotmesh.hpp>

#include "internal.packets.hpp"
#include "server/player.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

// Rooms report to it and it tells the players who have subscribed; nobody is ever a member. It can
// be lost at any time: rooms report again at intervals, and lists are asked for again.
class Directory : public spotmesh::UserSpot<Player> {
 public:
  using UserSpot::UserSpot;
  static void handlers(spotmesh::Handlers<Directory>& on);

 private:
  struct Entry {
    RoomSummary room;
    std::uint64_t number = 0;  // grows from room to room: how old it is
    spotmesh::Instant heard_at{};
  };

  spotmesh::Result<RoomList> subscribe(const internal::Subscribe& request);
  void unsubscribe(const internal::Unsubscribe& request);
  void room_changed(const internal::RoomChanged& change);
  void room_closed(const internal::RoomClosed& closed);
  // Changes that come close together are told once.
  void tell_soon();
  void tell();
  // Drops rooms that have not been heard of for long.
  void tidy();
  RoomList list() const;

  std::map<std::string, Entry> rooms_;  // by id
  std::set<std::string> subscribers_;   // ids of players in the lobby
  std::uint64_t last_number_ = 0;
  bool is_telling_soon_ = false;
};

}  // namespace tictactoe

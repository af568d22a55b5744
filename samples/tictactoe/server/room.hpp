// A room: two players, their match and its clock, and everybody who watches.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "internal.packets.hpp"
#include "rules/match.hpp"
#include "server/game_options.hpp"
#include "server/player.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

// SpotWide: the room, its players and its clock take turns on one gate, so nothing here needs a
// lock. The room lives from OpenRoom until the last one has left.
class Room : public spotmesh::UserSpot<Player> {
 public:
  Room(spotmesh::SpotContext& context, const GameOptions& options);
  static void handlers(spotmesh::Handlers<Room>& on);

  spotmesh::Task<spotmesh::CreateDecision> on_create(const spotmesh::Message& request) override;
  spotmesh::Task<spotmesh::JoinDecision> on_actor_join(std::string_view actor_id,
                                                       const spotmesh::Message& request) override;
  spotmesh::Task<void> on_joined_actor(Player& player) override;
  spotmesh::Task<void> on_leave_actor(Player& player) override;
  spotmesh::Task<void> on_disconnect_actor(Player& player) override;
  spotmesh::Task<void> on_closing(spotmesh::ClosingReason reason,
                                  spotmesh::Instant deadline) override;

 private:
  // What members ask.
  SyncResult sync(Player& player, const Sync&);
  spotmesh::Result<PlaceMarkResult> place_mark(Player& player, const PlaceMark& move);
  spotmesh::Result<RematchResult> rematch(Player& player, const Rematch&);
  spotmesh::Result<Entering> take_seat(Player& player, const JoinRoom& join);
  spotmesh::Result<Leaving> leave_room(Player& player, const LeaveRoom&);
  spotmesh::Result<void> player_gone(Player& player, const internal::PlayerGone&);

  // What the clock does.
  void turn_timed_out();
  spotmesh::Result<void> close_unused();
  void announce();

  // After every change: the clock fits the match, and everybody sees it.
  void changed();
  void set_clock();
  GameState state() const;
  RoomSummary summary() const;

  GameOptions options_;
  std::string name_;
  Match match_;
  std::vector<std::string> spectators_;
  std::uint32_t revision_ = 0;
  // The turn that the clock runs for, as round and move; empty while it stands still.
  std::optional<std::pair<int, int>> clocked_turn_;
  spotmesh::Instant turn_ends_{};
  RoomSummary announced_;
};

}  // namespace tictactoe

// What may be set about the game.
#pragma once

#include <chrono>
#include <cstddef>

#include <spotmesh/time.hpp>

namespace tictactoe {

struct GameOptions {
  // What a turn may take before it is lost.
  spotmesh::Duration turn_limit = std::chrono::seconds(30);
  // How long a player whose connection is lost keeps the name and the seat.
  spotmesh::Duration absence_limit = std::chrono::seconds(60);
  // Players and spectators of one room together.
  std::size_t most_in_room = 100;
};

}  // namespace tictactoe

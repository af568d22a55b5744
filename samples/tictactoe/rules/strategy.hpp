// How to play without ever losing.
#pragma once

#include "rules/board.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

// The best cell for whoever's turn it is: the soonest win, or the latest defeat, and the lowest of
// equals. -1 when the round is over.
int best_cell(const Board& board);
// The same for the board that a room shows.
int best_cell(const GameState& state);

}  // namespace tictactoe

// The board of one round: nine cells, whose turn it is, who has three in a row.
#pragma once

#include <array>
#include <vector>

#include <spotmesh/error.hpp>

#include "tictactoe.packets.hpp"

namespace tictactoe {

// "X" or "O"; X for O and O for X.
Mark other(Mark mark);

// Pure rules: no players, no clock. X moves first.
class Board {
 public:
  static constexpr int cell_count = 9;

  // Puts the mark whose turn it is into `cell`, 0..8 row by row. InvalidOperation when the round is
  // over, when there is no such cell and when it is taken; the board is then as it was.
  spotmesh::Result<void> place(int cell);

  Mark at(int cell) const { return cells_[static_cast<std::size_t>(cell)]; }
  const std::array<Mark, cell_count>& cells() const { return cells_; }
  // None once the round is over.
  Mark turn() const { return is_over() ? Mark::None : turn_; }
  // Who has three in a row; None for nobody yet.
  Mark winner() const;
  bool is_full() const;
  bool is_over() const { return winner() != Mark::None || is_full(); }
  // Every cell of every completed line, ascending; empty when nobody has won.
  std::vector<int> winning_cells() const;
  // The latest move, -1 before the first.
  int last_cell() const { return last_cell_; }
  int move_count() const { return move_count_; }

 private:
  std::array<Mark, cell_count> cells_{};
  Mark turn_ = Mark::X;
  int last_cell_ = -1;
  int move_count_ = 0;
};

}  // namespace tictactoe

#include "rules/strategy.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

namespace tictactoe {

namespace {

constexpr int worst_outlook = -Board::cell_count - 1;

// Above 0 when whoever is to move wins, below when the other does, and the more so the sooner; 0
// for a draw; if both play their best.
int outlook(const Board& board) {
  if (board.winner() != Mark::None) return board.move_count() - Board::cell_count - 1;
  if (board.is_full()) return 0;
  int best = worst_outlook;
  for (int cell = 0; cell < Board::cell_count; ++cell) {
    Board next = board;
    if (next.place(cell)) best = std::max(best, -outlook(next));
  }
  return best;
}

}  // namespace

int best_cell(const Board& board) {
  int best = -1;
  int best_outlook = worst_outlook - 1;
  for (int cell = 0; cell < Board::cell_count; ++cell) {
    Board next = board;
    if (!next.place(cell)) continue;
    if (const int hope = -outlook(next); hope > best_outlook) {
      best = cell;
      best_outlook = hope;
    }
  }
  return best;
}

// The moves are replayed in some order, which is as good as the true one: while the round is not
// over, no line is complete in any of them.
int best_cell(const GameState& state) {
  std::array<std::vector<int>, 2> cells;
  for (std::size_t cell = 0; cell < state.cells.size(); ++cell) {
    if (state.cells[cell] == Mark::X) cells[0].push_back(static_cast<int>(cell));
    if (state.cells[cell] == Mark::O) cells[1].push_back(static_cast<int>(cell));
  }
  Board board;
  for (std::size_t move = 0; move < cells[0].size() + cells[1].size(); ++move) {
    std::ignore = board.place(cells[move % 2][move / 2]);
  }
  return best_cell(board);
}

}  // namespace tictactoe

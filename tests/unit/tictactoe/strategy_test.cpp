#include "rules/strategy.hpp"

#include <catch2/catch.hpp>

using tictactoe::best_cell;
using tictactoe::Board;
using tictactoe::GameState;
using tictactoe::Mark;

namespace {

// Plays every round that an opponent of `mark` can make of it; `mark` plays its best.
void play_all(const Board& board, Mark mark, int& rounds) {
  if (board.is_over()) {
    ++rounds;
    REQUIRE(board.winner() != tictactoe::other(mark));
    return;
  }
  for (int cell = 0; cell < Board::cell_count; ++cell) {
    Board next = board;
    if (board.turn() == mark) cell = best_cell(board);
    if (!next.place(cell)) continue;
    play_all(next, mark, rounds);
    if (board.turn() == mark) return;
  }
}

}  // namespace

TEST_CASE("whoever plays the best cell never loses, whatever the other does") {
  for (const Mark mark : {Mark::X, Mark::O}) {
    int rounds = 0;
    play_all(Board(), mark, rounds);
    CHECK(rounds > 50);
  }
}

TEST_CASE("a win at hand is taken, and a threat is met") {
  Board board;
  for (const int cell : {0, 3, 1, 4}) REQUIRE(board.place(cell));
  CHECK(best_cell(board) == 2);
  REQUIRE(board.place(8));
  CHECK(best_cell(board) == 5);
}

TEST_CASE("the board that a room shows is understood") {
  const GameState state{.room = "Den",
                        .cells = {Mark::X, Mark::X, Mark::None, Mark::O, Mark::O, Mark::None,
                                  Mark::None, Mark::None, Mark::None}};
  CHECK(best_cell(state) == 2);
}

TEST_CASE("there is no best cell once the round is over") {
  Board board;
  for (const int cell : {0, 3, 1, 4, 2}) REQUIRE(board.place(cell));
  CHECK(best_cell(board) == -1);
}

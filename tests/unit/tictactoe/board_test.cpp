#include "rules/board.hpp"

#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>
#include <vector>

using spotmesh::ErrorKind;
using tictactoe::Board;
using tictactoe::Mark;

namespace {

Board after(std::initializer_list<int> cells) {
  Board board;
  for (const int cell : cells) REQUIRE(board.place(cell));
  return board;
}

// What came of all the rounds that can be played.
struct Tally {
  int x_wins = 0;
  int o_wins = 0;
  int draws = 0;
  int won_in_two_lines = 0;
};

void count_round(const Board& board, Tally& tally) {
  const std::vector<int> winning = board.winning_cells();
  if (board.winner() == Mark::None) {
    ++tally.draws;
    REQUIRE(board.is_full());
    REQUIRE(winning.empty());
    return;
  }
  ++(board.winner() == Mark::X ? tally.x_wins : tally.o_wins);
  REQUIRE((winning.size() == 3 || winning.size() == 5));
  if (winning.size() == 5) ++tally.won_in_two_lines;
  for (const int cell : winning) REQUIRE(board.at(cell) == board.winner());
}

void play_on(const Board& board, int moves, Tally& tally) {
  if (board.is_over()) {
    REQUIRE(board.turn() == Mark::None);
    count_round(board, tally);
    return;
  }
  REQUIRE(board.turn() == (moves % 2 == 0 ? Mark::X : Mark::O));
  for (int cell = 0; cell < Board::cell_count; ++cell) {
    Board next = board;
    const bool was_free = board.at(cell) == Mark::None;
    const auto placed = next.place(cell);
    REQUIRE(placed.has_value() == was_free);
    if (!was_free) continue;
    REQUIRE(next.at(cell) == board.turn());
    REQUIRE(next.last_cell() == cell);
    play_on(next, moves + 1, tally);
  }
}

}  // namespace

TEST_CASE("every round that can be played ends as the known counts say") {
  Tally tally;
  play_on(Board(), 0, tally);
  CHECK(tally.x_wins == 131'184);
  CHECK(tally.o_wins == 77'904);
  CHECK(tally.draws == 46'080);
  CHECK(tally.won_in_two_lines > 0);
}

TEST_CASE("X moves first and the turn alternates") {
  Board board;
  CHECK(board.turn() == Mark::X);
  REQUIRE(board.place(4));
  CHECK(board.turn() == Mark::O);
  CHECK(board.at(4) == Mark::X);
  CHECK(board.last_cell() == 4);
}

TEST_CASE("a taken cell, a cell beside the board and a move after the end are told apart") {
  Board board = after({4, 0});
  const auto expect_refusal = [&board](int cell, const std::string& message) {
    const auto placed = board.place(cell);
    REQUIRE_FALSE(placed);
    CHECK(placed.error().kind() == ErrorKind::InvalidOperation);
    CHECK(placed.error().message() == message);
  };
  expect_refusal(4, "cell 4 is taken");
  expect_refusal(0, "cell 0 is taken");
  expect_refusal(-1, "cell -1 is not on the board: cells are 0 to 8");
  expect_refusal(9, "cell 9 is not on the board: cells are 0 to 8");
  CHECK(board.turn() == Mark::X);

  board = after({0, 3, 1, 4, 2});
  CHECK(board.winner() == Mark::X);
  expect_refusal(8, "the round is over");
}

TEST_CASE("a last move can complete two lines at once") {
  const Board board = after({0, 1, 2, 5, 6, 3, 8, 7, 4});
  CHECK(board.winner() == Mark::X);
  CHECK(board.winning_cells() == std::vector<int>{0, 2, 4, 6, 8});
}

TEST_CASE("a full board without a line is a draw") {
  const Board board = after({4, 0, 8, 2, 1, 7, 3, 5, 6});
  CHECK(board.is_over());
  CHECK(board.winner() == Mark::None);
  CHECK(board.turn() == Mark::None);
}

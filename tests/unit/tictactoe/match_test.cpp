#include "rules/match.hpp"

#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>

using spotmesh::ErrorKind;
using tictactoe::Mark;
using tictactoe::Match;
using tictactoe::Outcome;
using tictactoe::Phase;

namespace {

Match between_ann_and_bob() {
  Match match;
  REQUIRE(match.sit("Ann") == Mark::X);
  REQUIRE(match.sit("Bob") == Mark::O);
  return match;
}

void play(Match& match, std::initializer_list<int> cells) {
  for (const int cell : cells) {
    const std::string mover = match.seat(match.turn())->name;
    REQUIRE(match.place(mover, cell));
  }
}

void expect_refusal(const spotmesh::Result<void>& result, const std::string& message) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind() == ErrorKind::InvalidOperation);
  CHECK(result.error().message() == message);
}

}  // namespace

TEST_CASE("a round begins when the second seat is taken") {
  Match match;
  CHECK(match.phase() == Phase::Waiting);
  CHECK(match.sit("Ann") == Mark::X);
  CHECK(match.phase() == Phase::Waiting);
  CHECK(match.has_free_seat());
  expect_refusal(match.place("Ann", 0), "the round has not begun: there is no opponent yet");

  CHECK(match.sit("Bob") == Mark::O);
  CHECK(match.phase() == Phase::Playing);
  CHECK(match.round() == 1);
  CHECK(match.turn() == Mark::X);
  CHECK_FALSE(match.has_free_seat());
  CHECK(match.sit("Cleo") == Mark::None);
}

TEST_CASE("only the player whose turn it is moves") {
  Match match = between_ann_and_bob();
  expect_refusal(match.place("Bob", 0), "it is Ann's turn");
  REQUIRE(match.place("Ann", 4));
  expect_refusal(match.place("Ann", 0), "it is Bob's turn");
  expect_refusal(match.place("Bob", 4), "cell 4 is taken");
  expect_refusal(match.place("Cleo", 0), "spectators cannot move");
  CHECK(match.turn() == Mark::O);
}

TEST_CASE("a win ends the round and counts for the winner") {
  Match match = between_ann_and_bob();
  play(match, {0, 3, 1, 4, 2});
  CHECK(match.phase() == Phase::Finished);
  CHECK(match.outcome() == Outcome::Win);
  CHECK(match.winner() == Mark::X);
  CHECK(match.turn() == Mark::None);
  CHECK(match.seat(Mark::X)->wins == 1);
  CHECK(match.seat(Mark::O)->wins == 0);
  expect_refusal(match.place("Bob", 8), "the round is over");
}

TEST_CASE("a draw counts for both") {
  Match match = between_ann_and_bob();
  play(match, {4, 0, 8, 2, 1, 7, 3, 5, 6});
  CHECK(match.outcome() == Outcome::Draw);
  CHECK(match.winner() == Mark::None);
  CHECK(match.draws() == 1);
}

TEST_CASE("whoever lets the clock run out loses") {
  Match match = between_ann_and_bob();
  REQUIRE(match.place("Ann", 4));
  match.time_out();
  CHECK(match.outcome() == Outcome::Timeout);
  CHECK(match.winner() == Mark::X);
  CHECK(match.seat(Mark::X)->wins == 1);
  match.time_out();  // a clock that strikes late changes nothing
  CHECK(match.seat(Mark::X)->wins == 1);
}

TEST_CASE("leaving in the middle of a round gives it to the opponent") {
  Match match = between_ann_and_bob();
  play(match, {4, 0});
  match.stand("Ann");
  CHECK(match.phase() == Phase::Finished);
  CHECK(match.outcome() == Outcome::Forfeit);
  CHECK(match.winner() == Mark::O);
  CHECK(match.seat(Mark::O)->wins == 1);
  CHECK_FALSE(match.seat(Mark::X));
  CHECK(match.has_free_seat());
  expect_refusal(match.ask_rematch("Bob"), "there is no opponent to play a rematch with");
}

TEST_CASE("a new opponent begins a new round with nothing on the score") {
  Match match = between_ann_and_bob();
  play(match, {0, 3, 1, 4, 2});
  match.stand("Bob");
  CHECK(match.outcome() == Outcome::Win);  // leaving afterwards changes no result
  CHECK(match.sit("Cleo") == Mark::O);
  CHECK(match.phase() == Phase::Playing);
  CHECK(match.outcome() == Outcome::None);
  CHECK(match.round() == 2);
  CHECK(match.seat(Mark::X)->name == "Ann");
  CHECK(match.seat(Mark::X)->wins == 0);
  CHECK(match.board().last_cell() == -1);
}

TEST_CASE("a table that both have left is clear for the next two") {
  Match match = between_ann_and_bob();
  play(match, {0, 3, 1, 4, 2});
  match.stand("Ann");
  match.stand("Bob");
  CHECK(match.phase() == Phase::Waiting);
  CHECK(match.outcome() == Outcome::None);
  CHECK(match.winner() == Mark::None);
  CHECK(match.board().at(0) == Mark::None);
  CHECK(match.sit("Cleo") == Mark::X);
}

TEST_CASE("a rematch begins when both have asked, with sides swapped") {
  Match match = between_ann_and_bob();
  expect_refusal(match.ask_rematch("Ann"), "a rematch comes after the round, which is not over");
  play(match, {0, 3, 1, 4, 2});
  expect_refusal(match.ask_rematch("Cleo"), "spectators cannot ask for a rematch");
  REQUIRE(match.ask_rematch("Ann"));
  REQUIRE(match.ask_rematch("Ann"));  // asking again changes nothing
  CHECK(match.phase() == Phase::Finished);
  CHECK(match.seat(Mark::X)->wants_rematch);

  REQUIRE(match.ask_rematch("Bob"));
  CHECK(match.phase() == Phase::Playing);
  CHECK(match.round() == 2);
  CHECK(match.mark_of("Bob") == Mark::X);
  CHECK(match.mark_of("Ann") == Mark::O);
  CHECK(match.seat(Mark::O)->wins == 1);
  CHECK_FALSE(match.seat(Mark::X)->wants_rematch);
  CHECK_FALSE(match.seat(Mark::O)->wants_rematch);
}

TEST_CASE("a wish for a rematch does not outlive the opponent it was meant for") {
  Match match = between_ann_and_bob();
  play(match, {0, 3, 1, 4, 2});
  REQUIRE(match.ask_rematch("Ann"));
  match.stand("Bob");
  CHECK_FALSE(match.seat(Mark::X)->wants_rematch);
}

TEST_CASE("a lost connection shows at the seat and is told once") {
  Match match = between_ann_and_bob();
  CHECK(match.set_connected("Bob", false));
  CHECK_FALSE(match.set_connected("Bob", false));
  CHECK_FALSE(match.seat(Mark::O)->is_connected);
  CHECK(match.set_connected("Bob", true));
  CHECK_FALSE(match.set_connected("Cleo", false));
}

TEST_CASE("a spectator who goes changes nothing") {
  Match match = between_ann_and_bob();
  match.stand("Cleo");
  CHECK(match.phase() == Phase::Playing);
}

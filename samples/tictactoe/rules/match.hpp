// What two people in a room play: seats, rounds, results, rematches.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>

#include "rules/board.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

// Pure rules: no clock, no connections; players are their names, which are unique. Every refusal is
// InvalidOperation with a message for the player, and leaves the match as it was.
class Match {
 public:
  bool has_free_seat() const { return !seats_[0] || !seats_[1]; }
  // The mark this player plays; None for everybody who has no seat.
  Mark mark_of(std::string_view name) const;

  // Takes a free seat and gives its mark; the first to come plays X. None when both seats are
  // taken. A round begins as soon as both are. Must not be seated already.
  Mark sit(std::string_view name);
  // Gives the seat up; the opponent wins a round that is under way. Nothing for a spectator.
  void stand(std::string_view name);
  // Whether that changed anything.
  bool set_connected(std::string_view name, bool is_connected);

  spotmesh::Result<void> place(std::string_view name, int cell);
  // The player whose turn it is has let the clock run out and loses. Nothing unless playing.
  void time_out();
  // A new round begins, sides swapped, when both have asked.
  spotmesh::Result<void> ask_rematch(std::string_view name);

  Phase phase() const { return phase_; }
  int round() const { return round_; }
  Mark turn() const { return phase_ == Phase::Playing ? board_.turn() : Mark::None; }
  const Board& board() const { return board_; }
  Outcome outcome() const { return outcome_; }
  Mark winner() const { return winner_; }
  int draws() const { return draws_; }
  // The seat of X or O as packets show it; nothing when it is free.
  const std::optional<Seat>& seat(Mark mark) const { return seats_[index_of(mark)]; }

 private:
  static std::size_t index_of(Mark mark) { return mark == Mark::X ? 0 : 1; }
  std::optional<Seat>& seat_of(std::string_view name) { return seats_[index_of(mark_of(name))]; }
  std::string name_of(Mark mark) const;
  spotmesh::Result<void> check_may_play(std::string_view name, std::string_view what) const;
  void begin_round();
  void clear_table();
  void end_round(Outcome outcome, Mark winner);

  std::array<std::optional<Seat>, 2> seats_;  // X, O
  Board board_;
  Phase phase_ = Phase::Waiting;
  int round_ = 0;
  Outcome outcome_ = Outcome::None;
  Mark winner_ = Mark::None;
  int draws_ = 0;
};

}  // namespace tictactoe

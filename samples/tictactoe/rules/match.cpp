#include "rules/match.hpp"

#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace tictactoe {

using spotmesh::Error;
using spotmesh::Result;

Mark Match::mark_of(std::string_view name) const {
  if (seats_[0] && seats_[0]->name == name) return Mark::X;
  if (seats_[1] && seats_[1]->name == name) return Mark::O;
  return Mark::None;
}

std::string Match::name_of(Mark mark) const {
  const auto& taken = seat(mark);
  return taken ? taken->name : std::string();
}

Mark Match::sit(std::string_view name) {
  assert(mark_of(name) == Mark::None);
  if (!has_free_seat()) return Mark::None;
  const Mark mark = seats_[0] ? Mark::O : Mark::X;
  seats_[index_of(mark)] = Seat{.name = std::string(name), .is_connected = true};
  if (!has_free_seat()) {
    // Who sits here now has no history with whoever sat here before.
    for (auto& taken : seats_) taken->wins = 0;
    draws_ = 0;
    begin_round();
  }
  return mark;
}

void Match::stand(std::string_view name) {
  const Mark mark = mark_of(name);
  if (mark == Mark::None) return;
  if (phase_ == Phase::Playing) end_round(Outcome::Forfeit, other(mark));
  seats_[index_of(mark)].reset();
  if (auto& opponent = seats_[index_of(other(mark))]) {
    opponent->wants_rematch = false;
  } else {
    clear_table();
  }
}

bool Match::set_connected(std::string_view name, bool is_connected) {
  if (mark_of(name) == Mark::None) return false;
  return std::exchange(seat_of(name)->is_connected, is_connected) != is_connected;
}

Result<void> Match::check_may_play(std::string_view name, std::string_view what) const {
  if (mark_of(name) == Mark::None) {
    return fail(Error::invalid_operation(fmt::format("spectators cannot {}", what)));
  }
  return {};
}

Result<void> Match::place(std::string_view name, int cell) {
  if (auto allowed = check_may_play(name, "move"); !allowed) return allowed;
  if (phase_ == Phase::Waiting) {
    return fail(Error::invalid_operation("the round has not begun: there is no opponent yet"));
  }
  if (phase_ == Phase::Finished) return fail(Error::invalid_operation("the round is over"));
  if (mark_of(name) != board_.turn()) {
    return fail(Error::invalid_operation(fmt::format("it is {}'s turn", name_of(board_.turn()))));
  }
  if (auto placed = board_.place(cell); !placed) return placed;
  if (board_.winner() != Mark::None) {
    end_round(Outcome::Win, board_.winner());
  } else if (board_.is_full()) {
    end_round(Outcome::Draw, Mark::None);
  }
  return {};
}

void Match::time_out() {
  if (phase_ == Phase::Playing) end_round(Outcome::Timeout, other(board_.turn()));
}

Result<void> Match::ask_rematch(std::string_view name) {
  if (auto allowed = check_may_play(name, "ask for a rematch"); !allowed) return allowed;
  if (has_free_seat()) {
    return fail(Error::invalid_operation("there is no opponent to play a rematch with"));
  }
  if (phase_ != Phase::Finished) {
    return fail(Error::invalid_operation("a rematch comes after the round, which is not over"));
  }
  seat_of(name)->wants_rematch = true;
  if (seats_[0]->wants_rematch && seats_[1]->wants_rematch) {
    std::swap(seats_[0], seats_[1]);
    begin_round();
  }
  return {};
}

void Match::begin_round() {
  for (auto& taken : seats_) taken->wants_rematch = false;
  board_ = Board();
  phase_ = Phase::Playing;
  ++round_;
  outcome_ = Outcome::None;
  winner_ = Mark::None;
}

void Match::clear_table() {
  phase_ = Phase::Waiting;
  board_ = Board();
  outcome_ = Outcome::None;
  winner_ = Mark::None;
}

void Match::end_round(Outcome outcome, Mark winner) {
  phase_ = Phase::Finished;
  outcome_ = outcome;
  winner_ = winner;
  if (winner == Mark::None) {
    ++draws_;
  } else {
    ++seats_[index_of(winner)]->wins;
  }
}

}  // namespace tictactoe

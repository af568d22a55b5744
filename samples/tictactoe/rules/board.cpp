#include "rules/board.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tictactoe {

namespace {

using Line = std::array<int, 3>;

constexpr std::array<Line, 8> lines = {{
    {0, 1, 2},
    {3, 4, 5},
    {6, 7, 8},  // rows
    {0, 3, 6},
    {1, 4, 7},
    {2, 5, 8},  // columns
    {0, 4, 8},
    {2, 4, 6},  // diagonals
}};

Mark owner_of(const Board& board, const Line& line) {
  const Mark first = board.at(line[0]);
  return first == board.at(line[1]) && first == board.at(line[2]) ? first : Mark::None;
}

}  // namespace

Mark other(Mark mark) {
  switch (mark) {
    case Mark::X:
      return Mark::O;
    case Mark::O:
      return Mark::X;
    case Mark::None:
      break;
  }
  return Mark::None;
}

spotmesh::Result<void> Board::place(int cell) {
  using spotmesh::Error;
  if (is_over()) return fail(Error::invalid_operation("the round is over"));
  if (cell < 0 || cell >= cell_count) {
    return fail(Error::invalid_operation(
        fmt::format("cell {} is not on the board: cells are 0 to {}", cell, cell_count - 1)));
  }
  if (at(cell) != Mark::None) {
    return fail(Error::invalid_operation(fmt::format("cell {} is taken", cell)));
  }
  cells_[static_cast<std::size_t>(cell)] = turn_;
  turn_ = other(turn_);
  last_cell_ = cell;
  ++move_count_;
  return {};
}

Mark Board::winner() const {
  for (const Line& line : lines) {
    if (const Mark owner = owner_of(*this, line); owner != Mark::None) return owner;
  }
  return Mark::None;
}

bool Board::is_full() const { return std::ranges::find(cells_, Mark::None) == cells_.end(); }

std::vector<int> Board::winning_cells() const {
  std::array<bool, cell_count> is_winning{};
  for (const Line& line : lines) {
    if (owner_of(*this, line) == Mark::None) continue;
    for (const int cell : line) is_winning[static_cast<std::size_t>(cell)] = true;
  }
  std::vector<int> cells;
  for (int cell = 0; cell < cell_count; ++cell) {
    if (is_winning[static_cast<std::size_t>(cell)]) cells.push_back(cell);
  }
  return cells;
}

}  // namespace tictactoe

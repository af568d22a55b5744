// Whole matches over real sockets, told move by move.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bots/bot_player.hpp"

namespace tictactoe {

// Something was not as the rules of the game say.
class DemoFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Three bots in one room: a win, a draw, a lost clock and a forfeit with rematches between them,
// wrong moves, a spectator, a connection that is lost in the middle of a round, and a second
// connection of the same player. Prints what happens; throws DemoFailure at the first surprise.
class Demo {
 public:
  // Against the servers of one cluster at those ports of this machine, at least one; the players
  // are spread over them.
  Demo(std::vector<std::uint16_t> ports, std::string room);

  void play();

 private:
  void meet();
  void play_a_win();
  void play_a_draw_across_a_lost_connection();
  void let_the_clock_run_out();
  void walk_out();
  void continue_elsewhere();
  void part();

  // Plays these cells in turn, whoever's turn it is, and checks that all three see each move.
  void play_moves(std::initializer_list<int> cells);
  void rematch();
  BotPlayer& mover();
  // Waits until all three see the room like this.
  void all_see(std::string_view what, const BotPlayer::Wish& wish);
  void expect_refusal(const spotmesh::Result<void>& result, std::string_view message);
  void show_move(const std::string& name, int cell, const GameState& state) const;

  // Where the player of that number comes in.
  std::uint16_t port_of(std::size_t number) const { return ports_[number % ports_.size()]; }

  std::vector<std::uint16_t> ports_;
  std::string room_;
  BotPlayer ann_;
  BotPlayer bob_;
  BotPlayer cleo_;
};

}  // namespace tictactoe

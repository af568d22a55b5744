// SimPlayer: somebody who plays TicTacToe in the simulator, loses connections and comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/testing/cluster.hpp>

#include "base/random.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe::simulation {

// What a player does on the way to the end of a round, besides playing.
struct Habits {
  unsigned drops_per_mille = 0;   // chance after each state seen that the connection is lost
  unsigned probes_per_mille = 0;  // chance of a move that the rules forbid
};

class SimPlayer {
 public:
  SimPlayer(spotmesh::testing::Cluster& cluster, spotmesh::Random& random, std::string name,
            std::string room, Habits habits);
  SimPlayer(const SimPlayer&) = delete;
  SimPlayer& operator=(const SimPlayer&) = delete;

  // Connects, logs in, enters the room and plays until a round has ended.
  void begin() { connect(); }
  // Does what cannot be done from within a handler: comes back after a lost connection. To be
  // called between steps of the simulation.
  void attend();

  const std::string& name() const { return name_; }
  bool has_seen_the_end() const { return finished_.has_value(); }
  // The round's last state as this player saw it.
  const GameState& final_state() const { return *finished_; }
  unsigned drops() const { return drops_; }
  // What went against the rules of game or protocol, in words.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  void connect();
  void log_in();
  void synchronize();
  void enter_room();
  void see(const GameState& state);
  void answer(const GameState& state);
  void place(int cell, bool is_legal);
  bool happens(unsigned per_mille) { return spotmesh::random_below(random_, 1000) < per_mille; }
  // Whether this player should try that again: the connection or the store was in the way.
  bool is_passing(const spotmesh::Error& error) const;
  void complain(std::string what) { complaints_.push_back(name_ + ": " + std::move(what)); }

  spotmesh::testing::Cluster& cluster_;
  spotmesh::Random& random_;
  const std::string name_;
  const std::string room_;
  const Habits habits_;
  std::optional<spotmesh::testing::SimStreamClient> client_;
  bool wants_connection_ = false;
  bool wants_retry_ = false;
  bool is_entering_ = false;
  std::uint32_t revision_ = 0;
  std::uint32_t answered_revision_ = 0;
  std::optional<GameState> finished_;
  unsigned drops_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace tictactoe::simulation

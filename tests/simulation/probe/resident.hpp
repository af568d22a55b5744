// Resident: somebody on a node, with a gate of his own, who uses the checking game at random: makes
// and ends Actors and rooms wherever they come to live, talks to them, and has them talk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>
#include <spotmesh/testing/chance.hpp>
#include <spotmesh/testing/cluster.hpp>

#include "ledger.hpp"

namespace probe {

// What a run's residents do.
struct Customs {
  std::vector<std::string> names;
  std::vector<std::string> rooms;
  spotmesh::Duration longest_pause = std::chrono::milliseconds(400);
  bool ends = true;   // Actors and rooms
  bool moves = true;  // Actors between rooms
  bool publishes = true;
};

class Resident {
 public:
  Resident(spotmesh::testing::Cluster& cluster, Ledger& ledger, const Customs& customs,
           std::uint64_t seed, unsigned number);
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  void begin();
  // Begins nothing more.
  void rest() { is_resting_ = true; }
  bool is_idle() const { return !caller_ || caller_->is_gone() || caller_->unfinished() == 0; }
  // Everything can be made and reached now: sees to it that it is.
  void conclude();
  bool has_concluded() const { return has_concluded_; }
  // Whether it still is who it was when it spoke last.
  void look_around();

 private:
  class Watch;
  using Job = void (Resident::*)();

  void later(spotmesh::Duration delay, Job job);
  bool is_present();
  void act();
  void make_runner();
  void make_room();
  void look_for();
  void say();
  void have_say();
  void ask();
  void have_ask();
  void have_move();
  void have_tick();
  void end_runner();
  void close_room();
  void publish();
  void have_publish();

  // One step of the conclusion after the other, each until it has succeeded.
  void take_step();
  spotmesh::Task<spotmesh::Result<void>> perform(std::size_t step, spotmesh::Context& context);
  spotmesh::Task<spotmesh::Result<void>> meet(std::string name, spotmesh::Context& context);
  spotmesh::Task<spotmesh::Result<void>> talk(std::string name, spotmesh::Context& context);
  spotmesh::Task<spotmesh::Result<void>> visit(std::string room, spotmesh::Context& context);

  void remember(const spotmesh::ActorRef& actor, const Watch& watch);
  void remember(const spotmesh::SpotRef& spot, const Watch& watch);
  // One that it remembers, sometimes with a node where it is not.
  template <typename Ref>
  std::optional<Ref> recall(const std::vector<Ref>& known);
  const std::string& somebody();
  const std::string& some_room();
  std::string some_topic();
  void complain(const std::string& what);

  spotmesh::testing::Cluster& cluster_;
  Ledger& ledger_;
  const Customs& customs_;
  spotmesh::testing::Chance chance_;
  const std::string name_;
  const unsigned node_;
  std::optional<spotmesh::testing::SimCaller> caller_;
  Life life_;  // of the present caller
  std::vector<spotmesh::ActorRef> actors_;
  std::vector<spotmesh::SpotRef> spots_;
  unsigned rooms_made_ = 0;
  bool is_resting_ = false;
  std::size_t step_ = 0;
  unsigned tries_ = 0;
  bool has_concluded_ = false;
};

}  // namespace probe

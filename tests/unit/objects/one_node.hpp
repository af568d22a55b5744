// OneNode: the tests' game on one node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "fixture.hpp"
#include "game.hpp"
#include "game_spots.hpp"

namespace spotmesh::objects {

// Everything of the game in one mesh "play". Nothing names its packets but handlers and those who
// decode them, as in a game whose clients are to see none of them. `hooks` outlives the
// application.
inline void configure_game(Application& app, Hooks& hooks,
                           const std::function<void(ObjectServer&)>& more = {}) {
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Hall>([&hooks](auto& f) {
    f.create_with(
        [&hooks](SpotContext& context) { return std::make_unique<Hall>(context, hooks); });
  });
  play.actor<Pawn>("pawn", [&hooks](auto& f) {
    f.disable_relocation().create_with(
        [&hooks](ActorContext& context) { return std::make_unique<Pawn>(context, hooks); });
  });
  play.actor<Rook>("rook", [&hooks](auto& f) {
    f.recreate_on_relocation().create_with(
        [&hooks](ActorContext& context) { return std::make_unique<Rook>(context, hooks); });
  });
  play.user_spot<Room>("room", [&hooks](auto& f) {
    f.disable_relocation().create_with(
        [&hooks](SpotContext& context) { return std::make_unique<Room>(context, hooks); });
  });
  if (more) more(play);
}

// The game on one node that has started.
struct OneNode {
  explicit OneNode(std::function<void(ObjectServer&)> more = {}, std::uint64_t seed = 1,
                   ObjectsConfig config = {})
      : sim(seed) {
    configure_game(app, hooks, more);
    node.emplace(sim, app, "one", std::move(config));
    REQUIRE(node->start().has_value());
  }
  Journal& journal() { return hooks.journal; }
  TestNode* operator->() { return &*node; }
  void run_for(Duration span) { sim.run_for(span); }

  Hooks hooks;
  Application app;
  TestWorld sim;
  std::optional<TestNode> node;
};

}  // namespace spotmesh::objects

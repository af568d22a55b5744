// What refused creations leave in the store, and for how long.
#include "objects/vacancies.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <set>
#include <string>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/lease_driver.hpp"
#include "objects/store_operations.hpp"
#include "one_node.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

std::set<std::string> actors_in(TestWorld& sim) {
  std::set<std::string> keys;
  for (const auto& entry : sim.store.contents(location::keys::actor_prefix)) keys.insert(entry.key);
  return keys;
}

// A game whose hall takes nobody.
template <typename Game>
struct Closed : Game {
  Closed() { close_hall(); }
  void close_hall() {
    this->hooks.on_create_actor = [](Actor&, const Message&) -> Task<CreateDecision> {
      co_return CreateDecision::reject();
    };
  }
  void refuse(TestNode& node, const std::string& id) {
    const auto result = node.create(id, "pawn");
    REQUIRE(result.has_value());
    REQUIRE(std::holds_alternative<Rejected>(*result));
  }
  std::size_t recorded() { return actors_in(this->sim).size(); }
};

}  // namespace

TEST_CASE("the record of a refused creation goes when its resends have had their time",
          "[CREATE-12]") {
  Closed<OneNode> game;
  game.refuse(*game.node, "anna");
  const auto refused = game.sim.store.contents(location::keys::actor_prefix);
  REQUIRE(refused.size() == 1);
  // Five minutes after the deadline, which is five seconds away.
  game.run_for(5min);
  CHECK(game.recorded() == 1);
  game.run_for(10s);
  CHECK(game.recorded() == 0);
  CHECK(game->core().operations->vacancies().size() == 0);
}

TEST_CASE("the record of an id that is refused again goes by the last of its times",
          "[CREATE-12]") {
  Closed<OneNode> game;
  game.refuse(*game.node, "anna");
  game.run_for(4min);
  game.refuse(*game.node, "anna");
  CHECK(game->core().operations->vacancies().size() == 1);
  game.run_for(4min);
  CHECK(game.recorded() == 1);
  game.run_for(70s);
  CHECK(game.recorded() == 0);
}

TEST_CASE("an id that is used again before its time keeps its new record", "[CREATE-12]") {
  Closed<OneNode> game;
  for (const char* id : {"anna", "berta", "carla"}) game.refuse(*game.node, id);
  game.hooks.on_create_actor = nullptr;
  const ActorRef berta = game->born("berta", "pawn");
  game.run_for(6min);
  CHECK(game.recorded() == 1);
  CHECK(game->find("berta") == berta);
  CHECK(game->core().operations->vacancies().size() == 0);
}

TEST_CASE("a store that is away, or has forgotten, is waited for until the records can go",
          "[STORE-06]") {
  Closed<OneNode> game;
  for (int i = 0; i < 150; ++i) game.refuse(*game.node, fmt::format("guest-{}", i));
  SECTION("away, for less than a lease") {
    game.run_for(5min);
    game.sim.store.set_available(false);
    game.run_for(9s);
    CHECK(game.recorded() == 150);
    game.sim.store.set_available(true);
  }
  SECTION("forgotten") {
    game.run_for(1min);
    game.sim.store.fail_over(0ms);
    game.run_for(4min);
    CHECK(game.recorded() == 150);
  }
  game.run_for(1min);
  CHECK(game.recorded() == 0);
  CHECK_FALSE(game->fenced_with.has_value());
}

TEST_CASE("with too many of them the oldest go before their time") {
  Closed<OneNode> game;
  game.refuse(*game.node, "first");
  Vacancies& vacancies = game->core().operations->vacancies();
  const WallTime later{game->sim().clock().wall_now().unix_milliseconds + 3'600'000};
  for (std::size_t i = 1; i < most_vacancies; ++i) {
    vacancies.add(fmt::format("spotmesh/actor/none-{}", i),
                  {.version = {game->core().lease->view().epoch, 1}, .keep_until = later});
  }
  game.run_for(1s);
  CHECK(game.recorded() == 1);
  game.refuse(*game.node, "last");
  game.run_for(1s);
  CHECK(actors_in(game.sim) == std::set<std::string>{"spotmesh/actor/last"});
  CHECK(vacancies.size() == most_vacancies);
}

TEST_CASE("whoever looks up what a dead node has left of a refused creation deletes it") {
  Closed<TwoNodes> game;
  game.refuse(*game.one, "anna");
  game.one->crash();
  game.run_for(4min);
  CHECK_FALSE(game.two->find("anna").has_value());
  game.run_for(1s);
  CHECK(game.recorded() == 1);
  game.run_for(2min);
  CHECK(game.recorded() == 1);
  CHECK_FALSE(game.two->find("anna").has_value());
  game.run_for(1s);
  CHECK(game.recorded() == 0);
}

TEST_CASE("a node that stops waits for no record of refused creations") {
  Closed<OneNode> game;
  for (int i = 0; i < 300; ++i) game.refuse(*game.node, fmt::format("guest-{}", i));
  const Instant asked = game->sim().clock().now();
  game->stop();
  CHECK(game->sim().clock().now() - asked < 500ms);
  CHECK(game.recorded() == 300);
}

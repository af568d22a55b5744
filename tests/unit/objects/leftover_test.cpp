// Records that say more than there is: brought back by a store that forgot, or of a node whose
// lease has run out.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "location/keys.hpp"
#include "one_node.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

Result<std::optional<ActorRef>> look_for(TestNode& node, const std::string& id) {
  return node.call<Result<std::optional<ActorRef>>>(
      [=](Context& context) { return context.actors().find(id); });
}

// Anna has ended on node one, and the store has forgotten it; the quiet time is over.
struct BroughtBack : TwoNodes {
  BroughtBack() {
    REQUIRE(one->destroy(anna) == true);
    sim.store.fail_over(one->sim().clock().now() - made_at);
    REQUIRE(is_recorded());
    run_for(60s);
    REQUIRE(is_recorded());
  }
  bool is_recorded() { return !sim.store.contents(location::keys::actor(anna.actor_id)).empty(); }

  const ActorRef anna = one->born("anna", "pawn");
  const Instant made_at = one->sim().clock().now();
};

}  // namespace

TEST_CASE("an owner that is sent what is not there deletes the record that said so", "[RACE-04]") {
  BroughtBack game;
  check_error(game.two->request<probe::Answer>("anna", probe::Ask{}), ErrorKind::Unavailable,
              "anna");
  game.run_for(1s);
  CHECK_FALSE(game.is_recorded());
  CHECK_FALSE(game.two->find("anna").has_value());
  game.two->born("anna", "pawn");
  CHECK(game.one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("an owner that is asked to end what is not there says so, and deletes the record",
          "[RACE-04][DESTROY-02]") {
  BroughtBack game;
  CHECK(game.two->destroy(game.anna) == false);
  game.run_for(1s);
  CHECK_FALSE(game.is_recorded());
}

TEST_CASE("a node that looks for what it has not got itself deletes the record", "[RACE-04]") {
  BroughtBack game;
  CHECK_FALSE(game.one->find("anna").has_value());
  game.run_for(1s);
  CHECK_FALSE(game.is_recorded());
}

TEST_CASE("nothing is said to be missing while a store that forgot is told again", "[FIND-01]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  game.run_for(1s);
  game.sim.store.fail_over(100s);
  check_error(look_for(*game.two, "anna"), ErrorKind::Unavailable, "new epoch");
  check_error(game.two->request<probe::Answer>("berta", probe::Ask{}), ErrorKind::Unavailable,
              "new epoch");
  game.run_for(60s);
  CHECK(game.two->find("anna") == anna);
  check_error(game.two->request<probe::Answer>("berta", probe::Ask{}), ErrorKind::NotFound,
              "berta");
}

TEST_CASE("a node whose lease has run out does not say of what it holds that it lives there",
          "[FIND-01][STORE-05]") {
  OneNode game;
  const ActorRef anna = game->born("anna", "pawn");
  game.run_for(1s);
  // Commits are late, so that nothing renews the lease; reads are answered.
  game.sim.store.behavior().late_commits_per_mille = 1000;
  game.run_for(12s);
  check_error(look_for(*game.node, "anna"), ErrorKind::Unavailable, "lease");
  check_error(game->get_or_create("anna", "pawn"), ErrorKind::Unavailable, "lease");
  game.sim.store.behavior().late_commits_per_mille = 0;
  game.run_for(5s);
  CHECK(game->find("anna") == anna);
}

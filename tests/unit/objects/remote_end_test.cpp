// Finding, destroying and closing objects of another node.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "objects/lease_driver.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

TEST_CASE("find and find_spot give what lives on another node", "[FIND-01][FIND-02]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const SpotRef red = game.one->room("red", "room");
  CHECK(game.two->find("anna") == anna);
  CHECK(game.two->spot_of("anna")->node_rid == game.one->self().node);
  REQUIRE(game.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  game.run_for(100ms);
  CHECK(game.two->spot_of("anna") == red);
  CHECK_FALSE(game.two->find("berta").has_value());
  CHECK_FALSE(game.two->spot_of("berta").has_value());
}

TEST_CASE("an Actor of another node is destroyed there, once",
          "[DESTROY-01][DESTROY-02][DESTROY-05][DESTROY-07]") {
  TwoNodes game;
  ActorRef ref = game.one->born("anna", "pawn");
  // Where it once was does not matter.
  ref.node_rid = NodeRid{"some-former-node"};
  CHECK(game.two->destroy(ref).value());
  CHECK_FALSE(game.one->find("anna").has_value());
  CHECK_FALSE(game.two->destroy(ref).value());
  CHECK_FALSE(game.one->destroy(ref).value());
  CHECK(game.journal().count("on_leave_actor hall anna") == 0);
}

TEST_CASE("destroy leaves another incarnation and a member of a User Spot of another node alone",
          "[DESTROY-03][DESTROY-04]") {
  TwoNodes game;
  const ActorRef old = game.one->born("anna", "pawn");
  REQUIRE(game.one->destroy(old).value());
  const ActorRef ref = game.one->born("anna", "pawn");
  check_error(game.two->destroy(old), ErrorKind::InvalidOperation, "generation");
  game.one->room("red", "room");
  REQUIRE(game.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  game.run_for(100ms);
  check_error(game.two->destroy(ref), ErrorKind::InvalidOperation, "Spot 'red'");
  CHECK(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("a Spot of another node is closed there when it is empty") {
  TwoNodes game;
  const SpotRef red = game.one->room("red", "room");
  game.one->born("anna", "pawn");
  REQUIRE(game.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  game.run_for(100ms);
  CHECK_FALSE(game.two->close(red).value());
  REQUIRE(game.one->send("anna", probe::Wish{}).has_value());
  game.run_for(100ms);
  CHECK(game.two->close(red).value());
  CHECK_FALSE(game.two->close(red).value());
  const auto entry = game.one->spot_of("anna");
  check_error(game.two->close(*entry), ErrorKind::InvalidOperation, "its node");
}

TEST_CASE("a destroy whose owner cannot be reached ends by its deadline, or with the owner's run",
          "[MESH-02]") {
  TwoNodes game;
  const ActorRef ref = game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  game.part();
  const Instant begun = game.two->sim().clock().now();
  check_error(game.two->destroy(ref), ErrorKind::DeadlineExceeded, "anna");
  CHECK(game.two->sim().clock().now() - begun < 5100ms);
  auto outcome = game.two->begin<Result<bool>>(
      [ref](Context& context) { return context.actors().destroy(ref); });
  game.run_for(100ms);
  game.two->mesh().end(game.one->self(), Error::unavailable("it was fenced"));
  game.run_for(10ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::Unavailable, game.one->self().node.text);
}

TEST_CASE("a close that meets the stop of the Spot's node is told so, and holds nothing up") {
  TwoNodes game;
  const SpotRef red = game.one->room("red", "room");
  game.one->born("anna", "pawn");
  Latch work;
  game.hooks.poke = [&](ActorContext&, SpotContext&,
                        const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await work.wait();
    co_return probe::Poked{};
  };
  const auto poked = game.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
  });
  game.run_for(10ms);
  const auto close = [red](Context& context) { return context.spots().close(red); };
  std::shared_ptr<std::optional<Result<bool>>> near;
  std::shared_ptr<std::optional<Result<bool>>> far;
  game.sim.world.after(100ms, [&] {
    near = game.one->begin<Result<bool>>(close);
    far = game.two->begin<Result<bool>>(close);
  });
  game.sim.world.after(500ms, [&] { work.open(); });
  const Instant begun = game.one->sim().clock().now();
  game.one->stop(30s);
  CHECK(game.one->sim().clock().now() - begun < 2s);
  CHECK(poked->value().has_value());
  check_error(near->value(), ErrorKind::ShuttingDown, game.one->self().node.text);
  check_error(far->value(), ErrorKind::Unavailable, game.one->self().node.text);
  CHECK(game.journal().count("on_closing red Shutdown") == 1);
}

TEST_CASE("while a store that forgot is told again, nothing of another node is taken for gone",
          "[DESTROY-05]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const SpotRef red = game.one->room("red", "room");
  game.run_for(1s);
  game.sim.store.fail_over(100s);
  const auto epoch = game.two->core().lease->view().epoch;
  REQUIRE(game.sim.world.run_until([&] { return game.two->core().lease->view().epoch != epoch; },
                                   60s) == testing::SimOutcome::Done);
  check_error(game.two->destroy(anna), ErrorKind::Unavailable, "new epoch");
  check_error(game.two->close(red), ErrorKind::Unavailable, "new epoch");
  game.run_for(60s);
  CHECK(game.two->find("anna") == anna);
  CHECK(game.two->destroy(anna) == true);
  CHECK(game.two->close(red) == true);
}

TEST_CASE("a Join to a Spot of another node fails and says why", "[JOIN-08][JOIN-09]") {
  TwoNodes game;
  game.one->room("red", "room");
  std::vector<std::string> reasons;
  game.hooks.on_join_completed = [&](ActorContext&,
                                     const JoinCompletion& completion) -> Task<void> {
    reasons.push_back(to_string(std::get<JoinFailed>(completion).error));
    co_return;
  };
  game.two->born("anna", "pawn");  // her type never moves
  REQUIRE(game.two->send("anna", probe::Wish{.spot = "red"}).has_value());
  game.run_for(200ms);
  game.two->born("rosa", "rook");
  REQUIRE(game.two->send("rosa", probe::Wish{.spot = "red"}).has_value());
  game.run_for(200ms);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].find("Rejected") == 0);
  CHECK(reasons[1].find("Unavailable") == 0);
  CHECK(reasons[1].find("moving between nodes is not available yet") != std::string::npos);
  CHECK(game.journal().count("on_actor_join room anna") == 0);
  CHECK(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

// Order when an id comes to live elsewhere.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "objects/router.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// Three nodes: the sender, and two that the id goes to and fro between.
struct ThreeNodes : TwoNodes {
  explicit ThreeNodes(std::uint64_t seed = 1) : TwoNodes(seed) {
    three.emplace(sim, app, "three");
    REQUIRE(three->start().has_value());
  }
  // Anna has been on two, where one knows her to be; a second note stands on the way to her there,
  // and she comes to live on `next`, where one's third is to go.
  void move_while_parted(TestNode& next) {
    two->born("anna", "pawn");
    note(*one, "first");
    run_for(100ms);
    part();
    note(*one, "second");
    destroy_on(*two);
    next.born("anna", "pawn");
    one->core().router->forget_routes();
    note(*one, "third");
  }
  void destroy_on(TestNode& node) { REQUIRE(node.destroy(*node.find("anna")).value()); }
  void note(TestNode& from, const std::string& text) {
    auto sent = from.begin<Result<void>>([text](Context& context) {
      return context.actors().send("anna", probe::Note{.text = text}).submit();
    });
    sends.push_back(sent);
  }
  std::vector<std::string> notes() {
    std::vector<std::string> found;
    for (const std::string& line : journal().lines()) {
      if (line.starts_with("anna notes ")) found.push_back(line.substr(11));
    }
    return found;
  }

  std::vector<std::shared_ptr<std::optional<Result<void>>>> sends;
  std::optional<TestNode> three;
};

}  // namespace

TEST_CASE("a message does not overtake an older one that waits on the way to a former owner",
          "[RACE-02][TURN-01]") {
  ThreeNodes game;
  game.move_while_parted(*game.three);
  game.run_for(500ms);
  // … and back, where the second would be welcome again.
  CHECK(game.notes() == std::vector<std::string>{"first"});
  game.destroy_on(*game.three);
  game.two->born("anna", "pawn");
  game.heal();
  game.run_for(2s);
  // The third was on its way to where she had left again.
  CHECK(game.notes() == std::vector<std::string>{"first", "second"});
  CHECK(game.three->metrics().stale_routes.value() == 1);
  for (const auto& sent : game.sends) CHECK(sent->has_value());
}

TEST_CASE(
    "what waits for a route leaves behind what its turn has said before, also when that is held",
    "[TURN-01][STORE-05]") {
  ThreeNodes game;
  game.two->born("anna", "pawn");
  game.note(*game.one, "first");
  game.run_for(100ms);
  game.one->born("bert", "pawn");
  // The route is lost in the middle of a turn, and the machine sleeps past the admission deadline.
  game.sim.store.set_available(false);
  game.hooks.poke = [&](ActorContext& context, SpotContext&,
                        const probe::Poke&) -> Task<Result<probe::Poked>> {
    (void)co_await context.actors().send("anna", probe::Note{.text = "second"}).submit();
    game.one->core().router->forget_routes();
    game.one->sim().clock().step(12s);
    (void)co_await context.actors().send("anna", probe::Note{.text = "third"}).submit();
    co_return probe::Poked{};
  };
  const auto poked = game.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("bert", probe::Poke{}).timeout(60s).submit();
  });
  game.run_for(1s);
  CHECK(game.notes() == std::vector<std::string>{"first"});
  game.sim.store.set_available(true);
  game.run_for(10s);
  CHECK(game.notes() == std::vector<std::string>{"first", "second", "third"});
  REQUIRE(poked->has_value());
  CHECK((*poked)->has_value());
}

TEST_CASE("a route that is forgotten while messages wait to go along it is looked up anew",
          "[TURN-01]") {
  ThreeNodes game;
  game.two->born("anna", "pawn");
  game.note(*game.one, "first");
  game.run_for(100ms);
  game.part();
  game.note(*game.one, "second");
  game.destroy_on(*game.two);
  game.three->born("anna", "pawn");
  game.one->core().router->forget_routes();
  game.note(*game.one, "third");
  game.run_for(500ms);
  // Two is still to say that it has taken the second.
  game.one->core().router->forget_routes();
  game.heal();
  game.run_for(2s);
  CHECK(game.notes() == std::vector<std::string>{"first", "third"});
  for (const auto& sent : game.sends) CHECK(sent->value().has_value());
}

TEST_CASE("nor when the id comes to live with the sender itself", "[RACE-02][TURN-01]") {
  ThreeNodes game;
  game.move_while_parted(*game.one);
  game.run_for(500ms);
  CHECK(game.notes() == std::vector<std::string>{"first"});
  game.heal();
  game.run_for(2s);
  // The second met nobody at two; the third came after that was sure.
  CHECK(game.notes() == std::vector<std::string>{"first", "third"});
  CHECK(game.two->metrics().stale_routes.value() == 1);
}

TEST_CASE("nor because the older one is long in coming", "[RACE-02][TURN-01]") {
  ThreeNodes game;
  game.move_while_parted(*game.one);
  game.run_for(6s);
  REQUIRE(game.sends.back()->has_value());
  check_error(**game.sends.back(), ErrorKind::Unavailable, "has not said in time");
  // She could go back to two at any time, and meet the second there.
  game.note(*game.one, "fourth");
  game.run_for(1s);
  CHECK(game.notes() == std::vector<std::string>{"first"});
  game.heal();
  game.run_for(4s);
  CHECK(game.notes() == std::vector<std::string>{"first", "fourth"});
  CHECK(game.two->metrics().stale_routes.value() == 1);
}

TEST_CASE("what waits for a former owner that does not answer ends, and keeps its order",
          "[RACE-02][MSG-03]") {
  ThreeNodes game;
  game.move_while_parted(*game.three);
  game.run_for(6s);
  REQUIRE(game.sends.back()->has_value());
  check_error(**game.sends.back(), ErrorKind::Unavailable, "has not said in time");
  // Its run is over: nothing of it comes any more.
  const mesh::Peer former = game.two->self();
  game.one->mesh().end(former, Error::unavailable("fenced"));
  game.run_for(10ms);
  game.note(*game.one, "fourth");
  game.run_for(1s);
  CHECK(game.notes() == std::vector<std::string>{"first", "fourth"});
}

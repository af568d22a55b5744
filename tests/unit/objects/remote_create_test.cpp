// Creations whose object is made at another node than the one that is asked.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "fencing.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "many_nodes.hpp"
#include "objects/capacity.hpp"
#include "objects/creations.hpp"
#include "objects/lease_driver.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// Node one asks; what placement chooses between is two nodes of such weights.
struct Placed {
  Placed(std::uint32_t weight_one, std::uint32_t weight_two, std::uint64_t seed = 1) : sim(seed) {
    configure_game(app_one, hooks, [=](ObjectServer& play) { play.placement_weight(weight_one); });
    configure_game(app_two, hooks,
                   [=](ObjectServer& play) { play.placement_weight(weight_two).actor_limit(40); });
    one.emplace(sim, app_one, "one", ObjectsConfig{}, mesh::MeshOptions{}, Made::WherePlaced);
    two.emplace(sim, app_two, "two", ObjectsConfig{}, mesh::MeshOptions{}, Made::WherePlaced);
    for (auto* node : {&one, &two}) REQUIRE((*node)->start().has_value());
    const auto know_each_other = [this] {
      return sees_alive(*one, *two) && sees_alive(*two, *one);
    };
    REQUIRE(sim.world.run_until(know_each_other, 60s) == testing::SimOutcome::Done);
    hooks.journal.take();
  }
  Capacity::Usage actors_of(TestNode& node) {
    return node.core().capacity->actors(*node.core().application.find_mesh("play"));
  }
  std::shared_ptr<std::optional<Result<CreateResult>>> begin(const std::string& id,
                                                             Duration timeout) {
    return one->begin<Result<CreateResult>>([=](Context& context) {
      return context.actors().create(id, "pawn").timeout(timeout).submit();
    });
  }
  void wait_for(const std::function<bool()>& condition) {
    REQUIRE(sim.world.run_until(condition, 60s) == testing::SimOutcome::Done);
  }

  Hooks hooks;
  Application app_one;
  Application app_two;
  TestWorld sim;
  std::optional<TestNode> one;
  std::optional<TestNode> two;
};

}  // namespace

TEST_CASE("what is created lives at the node that placement draws", "[CREATE-01][PLACE-02]") {
  Placed game(0, 100);
  game.hooks.on_create_actor = [](Actor&, const Message& request) -> Task<CreateDecision> {
    co_return CreateDecision::accept(
        probe::Note{.text = "hello " + request.decode<probe::Note>()->text});
  };
  const auto result = game.one->create("anna", "pawn", Message::of(probe::Note{.text = "Anna"}));
  INFO((result ? std::string() : to_string(result.error())));
  REQUIRE(result.has_value());
  REQUIRE(std::holds_alternative<Created>(*result));
  const auto& created = std::get<Created>(*result);
  CHECK(created.actor.node_rid == game.two->self().node);
  CHECK(created.reply.decode<probe::Note>()->text == "hello Anna");
  CHECK(game.one->find("anna") == created.actor);
  CHECK(game.actors_of(*game.two).active == 1);
  CHECK(game.actors_of(*game.one).total() == 0);
  CHECK(game.one->request<probe::Answer>("anna", probe::Ask{.value = 1})->value == 2);
  const SpotRef red = game.one->room("red", "room");
  CHECK(red.node_rid == game.two->self().node);
  CHECK(game.one->close(red) == true);
  CHECK(game.one->destroy(created.actor) == true);
}

TEST_CASE("an id that lives is answered for, wherever it lives", "[CREATE-02][CREATE-03]") {
  Placed game(0, 100);
  const ActorRef anna = game.one->born("anna", "pawn");
  for (auto* node : {&*game.one, &*game.two}) {
    check_error(node->create("anna", "pawn"), ErrorKind::AlreadyExists, "anna");
    check_error(node->create("anna", "rook"), ErrorKind::TypeMismatch, "pawn");
    const auto existing = node->get_or_create("anna", "pawn");
    REQUIRE(existing.has_value());
    REQUIRE(std::holds_alternative<Existing>(*existing));
    CHECK(std::get<Existing>(*existing).actor == anna);
  }
  CHECK(game.hooks.journal.count("on_create_actor anna") == 1);
}

TEST_CASE("a rejection and a throw at the other node come back, and leave nothing",
          "[CREATE-12][CREATE-13]") {
  Placed game(0, 100);
  game.hooks.on_create_actor = [](Actor&, const Message&) -> Task<CreateDecision> {
    co_return CreateDecision::reject(probe::Note{.text = "no room"});
  };
  const auto rejected = game.one->create("anna", "pawn");
  REQUIRE(rejected.has_value());
  REQUIRE(std::holds_alternative<Rejected>(*rejected));
  CHECK(std::get<Rejected>(*rejected).reply.decode<probe::Note>()->text == "no room");
  game.hooks.on_create_actor = nullptr;
  game.hooks.configure = [](ActorContext&) { throw std::runtime_error("no plan"); };
  check_error(game.one->create("anna", "pawn"), ErrorKind::InternalFailure, "no plan");
  game.hooks.configure = nullptr;
  CHECK_FALSE(game.one->find("anna").has_value());
  CHECK(game.actors_of(*game.two).total() == 0);
  CHECK(game.one->core().creations->under_way() == 0);
  CHECK(game.two->core().creations->under_way() == 0);
  game.one->born("anna", "pawn");
}

TEST_CASE("whoever waits for the creation of another gets what it has made", "[CREATE-05]") {
  Placed game(0, 100);
  Latch latch;
  game.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept(probe::Note{.text = "for the first"});
  };
  const auto first = game.begin("anna", 5s);
  game.sim.run_for(200ms);
  const auto strict = game.two->begin<Result<CreateResult>>([](Context& context) {
    return context.actors().create("anna", "pawn").timeout(5s).submit();
  });
  game.sim.run_for(200ms);
  REQUIRE_FALSE(strict->has_value());
  latch.open();
  game.wait_for([&] { return first->has_value() && strict->has_value(); });
  REQUIRE((*first)->has_value());
  CHECK(std::holds_alternative<Created>(***first));
  check_error(**strict, ErrorKind::AlreadyExists, "anna");
  const auto existing = game.two->get_or_create("anna", "pawn");
  REQUIRE(existing.has_value());
  CHECK(std::get<Existing>(*existing).actor == std::get<Created>(***first).actor);
  CHECK(game.hooks.journal.count("on_create_actor anna") == 1);
}

TEST_CASE("whoever waits for a creation that is rejected tries with his own request",
          "[CREATE-06]") {
  Placed game(0, 100);
  Latch latch;
  std::vector<std::string> seen;
  game.hooks.on_create_actor = [&](Actor&, const Message& request) -> Task<CreateDecision> {
    seen.push_back(request.decode<probe::Note>()->text);
    if (seen.size() > 1) co_return CreateDecision::accept();
    co_await latch.wait();
    co_return CreateDecision::reject(probe::Note{.text = "not you"});
  };
  const auto ask = [](TestNode& node, const std::string& text) {
    return node.begin<Result<CreateResult>>([=](Context& context) {
      return context.actors()
          .get_or_create("anna", "pawn")
          .request(Message::of(probe::Note{.text = text}))
          .timeout(5s)
          .submit();
    });
  };
  const auto first = ask(*game.one, "first");
  game.sim.run_for(200ms);
  const auto second = ask(*game.two, "second");
  game.sim.run_for(200ms);
  REQUIRE_FALSE(second->has_value());
  latch.open();
  game.wait_for([&] { return first->has_value() && second->has_value(); });
  REQUIRE((*first)->has_value());
  CHECK(std::holds_alternative<Rejected>(***first));
  INFO(((*second)->has_value() ? std::string("?") : to_string((*second)->error())));
  REQUIRE((*second)->has_value());
  CHECK(std::holds_alternative<Created>(***second));
  CHECK(seen == std::vector<std::string>{"first", "second"});
}

TEST_CASE("nodes of equal weight get about as many, and one that is full none",
          "[PLACE-02][PLACE-04]") {
  Placed game(100, 100);
  for (int i = 0; i < 60; ++i) game.one->born("a" + std::to_string(i), "pawn");
  const auto at_two = game.actors_of(*game.two).active;
  CHECK(at_two >= 15);
  CHECK(at_two <= 40);
  CHECK(game.actors_of(*game.one).active + at_two == 60);
  for (int i = 0; i < 60; ++i) game.one->born("b" + std::to_string(i), "pawn");
  CHECK(game.actors_of(*game.two).active == 40);
  CHECK(game.actors_of(*game.one).active == 80);
}

TEST_CASE("what no node has room for is CapacityExceeded", "[PLACE-04]") {
  Placed game(0, 100);
  for (int i = 0; i < 40; ++i) game.one->born("a" + std::to_string(i), "pawn");
  check_error(game.one->create("one more", "pawn"), ErrorKind::CapacityExceeded);
  CHECK_FALSE(game.one->find("one more").has_value());
}

TEST_CASE("a creation ends by its caller's deadline, and what was begun for it is given back",
          "[CREATE-09][DURABLE-04][DURABLE-07]") {
  Placed game(0, 100);
  Latch latch;
  game.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept();
  };
  const auto created = game.begin("anna", 2s);
  const Instant begun = game.sim.world.now();
  game.wait_for([&] { return created->has_value(); });
  check_error(**created, ErrorKind::DeadlineExceeded, "anna");
  CHECK(game.sim.world.now() - begun >= 2s);
  CHECK(game.sim.world.now() - begun <= 2010ms);
  game.sim.run_for(1s);
  CHECK(game.actors_of(*game.two).total() == 0);
  CHECK(game.two->core().creations->under_way() == 0);
  latch.open();
  game.sim.run_for(1s);
  CHECK_FALSE(game.one->find("anna").has_value());
}

TEST_CASE("a creation that no node has heard of by its deadline is Unavailable then",
          "[DURABLE-04][DURABLE-07]") {
  Placed game(0, 100);
  game.sim.network.partition(game.one->sim(), game.two->sim());
  const Instant begun = game.sim.world.now();
  const auto created = game.begin("anna", 2s);
  game.wait_for([&] { return created->has_value(); });
  check_error(**created, ErrorKind::Unavailable, "anna");
  CHECK(game.sim.world.now() - begun >= 2s);
  CHECK(game.sim.world.now() - begun <= 2010ms);
  CHECK(game.hooks.journal.count("on_create_actor anna") == 0);
}

TEST_CASE("a creation whose node dies ends Unavailable, and the id is free in time",
          "[DURABLE-06][CREATE-15]") {
  Placed game(1, 10'000);
  Latch latch;
  bool is_first = true;
  game.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    if (std::exchange(is_first, false)) co_await latch.wait();
    co_return CreateDecision::accept();
  };
  const auto created = game.begin("anna", 50s);
  game.wait_for([&] { return game.hooks.journal.count("on_create_actor anna") == 1; });
  game.two->crash();
  game.wait_for([&] { return created->has_value(); });
  check_error(**created, ErrorKind::Unavailable, "anna");
  CHECK_FALSE(game.one->find("anna").has_value());
  const ActorRef anna = game.one->born("anna", "pawn");
  CHECK(anna.node_rid == game.one->self().node);
  CHECK(game.one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("a node that stops turns away what it makes for others, and it is made elsewhere",
          "[PLACE-04][DURABLE-01]") {
  Placed game(1, 10'000);
  Latch latch;
  bool is_first = true;
  game.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    if (std::exchange(is_first, false)) co_await latch.wait();
    co_return CreateDecision::accept();
  };
  const auto created = game.begin("anna", 30s);
  game.wait_for([&] { return game.hooks.journal.count("on_create_actor anna") == 1; });
  REQUIRE(game.actors_of(*game.two).pending == 1);
  game.two->stop();
  game.wait_for([&] { return created->has_value(); });
  INFO(((*created)->has_value() ? std::string() : to_string((*created)->error())));
  REQUIRE((*created)->has_value());
  REQUIRE(std::holds_alternative<Created>(***created));
  CHECK(std::get<Created>(***created).actor.node_rid == game.one->self().node);
}

TEST_CASE("where only a node that stops could make it, a creation is Unavailable", "[PLACE-04]") {
  Placed game(0, 100);
  game.one->born("berta", "pawn");
  Latch latch;
  game.hooks.poke = [&](ActorContext&, SpotContext&,
                        const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  // So that it takes its time to stop.
  const auto busy = game.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("berta", probe::Poke{}).timeout(60s).submit();
  });
  game.sim.run_for(50ms);
  const auto created = game.begin("anna", 30s);
  game.two->stop(2s);
  game.wait_for([&] { return created->has_value(); });
  check_error(**created, ErrorKind::Unavailable);
  CHECK(game.hooks.journal.count("on_create_actor anna") == 0);
}

TEST_CASE("a node that loses its lease leaves no creation under way at another", "[STORE-10]") {
  Placed game(0, 100);
  Latch latch;
  game.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept();
  };
  (void)game.begin("anna", 60s);
  game.wait_for([&] { return game.hooks.journal.count("on_create_actor anna") == 1; });
  const auto begun = game.sim.world.now();
  fence(game.sim, *game.one);
  game.wait_for([&] { return game.one->fenced_with.has_value(); });
  game.sim.run_for(1s);
  REQUIRE(game.sim.world.now() - begun < 30s);
  CHECK(game.one->core().creations->under_way() == 0);
  CHECK(game.two->core().creations->under_way() == 0);
  CHECK(game.actors_of(*game.two).total() == 0);
}

TEST_CASE("a link that breaks while an Actor is made costs nothing and makes nothing twice",
          "[DURABLE-01][DURABLE-06]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Placed game(0, 100, seed);
    const auto created = game.begin("anna", 5s);
    game.sim.run_for(std::chrono::microseconds(seed * 211 % 4000));
    game.sim.network.cut(game.one->sim(), game.two->sim());
    game.wait_for([&] { return created->has_value(); });
    INFO(((*created)->has_value() ? std::string() : to_string((*created)->error())));
    REQUIRE((*created)->has_value());
    CHECK(std::holds_alternative<Created>(***created));
    CHECK(game.hooks.journal.count("on_create_actor anna") == 1);
    CHECK(game.actors_of(*game.two).total() == 1);
  }
}

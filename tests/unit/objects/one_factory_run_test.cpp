// One id that everybody asks for at once, and nodes that stall or die while they make what was
// asked for.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "checks.hpp"
#include "many_nodes.hpp"
#include "objects/creations.hpp"
#include "objects/registry.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

using Answers = std::vector<Result<CreateResult>>;

// `times` get_or_create of Anna at one moment.
std::shared_ptr<std::optional<Answers>> ask(TestNode& node, int times) {
  return node.begin<Answers>([times](Context& context) -> Task<Answers> {
    std::vector<Task<Result<CreateResult>>> pending;
    for (int i = 0; i < times; ++i) {
      pending.push_back(context.actors().get_or_create("anna", "pawn").timeout(30s).submit());
    }
    Answers answers;
    for (auto& each : pending) answers.push_back(co_await std::move(each));
    co_return answers;
  });
}

// Of three nodes the first asks and makes nothing itself; the first of the others to make anything
// stops in on_create_actor until the latch opens.
struct Stalling : ManyNodes {
  Stalling()
      : ManyNodes(3, [](ObjectServer& play, std::size_t number) {
          play.placement_weight(number == 0 ? 0 : 100);
        }) {
    hooks.on_create_actor = [this](Actor&, const Message&) -> Task<CreateDecision> {
      if (++runs == 1) co_await latch.wait();
      co_return CreateDecision::accept();
    };
  }
  // Until the factory has run for Anna; `chosen` is the node that was chosen.
  std::shared_ptr<std::optional<Result<CreateResult>>> begin(Duration timeout) {
    auto asked = (*this)[0].begin<Result<CreateResult>>([timeout](Context& context) {
      return context.actors().create("anna", "pawn").timeout(timeout).submit();
    });
    wait_for([this] { return runs == 1; });
    chosen = actors(1).pending == 1 ? 1 : 2;
    REQUIRE(actors(chosen).pending == 1);
    return asked;
  }
  // Asks again until she is made.
  ActorRef made_at_last() {
    std::optional<ActorRef> made;
    for (int i = 0; i < 120 && !made.has_value(); ++i) {
      const auto result = (*this)[0].create("anna", "pawn");
      if (result) {
        REQUIRE(std::holds_alternative<Created>(*result));
        made = std::get<Created>(*result).actor;
        continue;
      }
      INFO(to_string(result.error()));
      const bool is_waited_for = result.error().kind() == ErrorKind::Unavailable ||
                                 result.error().kind() == ErrorKind::DeadlineExceeded;
      REQUIRE(is_waited_for);
      sim.run_for(500ms);
    }
    REQUIRE(made.has_value());
    return *made;
  }
  void check_lives_only_as(const ActorRef& anna) {
    CHECK((*this)[0].find("anna") == anna);
    CHECK((*this)[0].request<probe::Answer>("anna", probe::Ask{})->text == "anna asked 1");
    for (auto& node : nodes) {
      const bool is_there = static_cast<bool>(node->core().registry->find_actor("anna"));
      CHECK(is_there == (node->core().identity.rid == anna.node_rid));
    }
    CHECK(journal().count("on_create_actor anna") == 2);
  }

  Latch latch;
  int runs = 0;
  std::size_t chosen = 0;
};

}  // namespace

TEST_CASE("200 get_or_create of one id from four nodes while a fifth joins make one Actor once",
          "[CREATE-07]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    ManyNodes game(4, {}, seed);
    game.sim.store.behavior().max_latency = 50ms;
    game.sim.store.behavior().unknown_per_mille = 100;
    std::vector<std::shared_ptr<std::optional<Answers>>> asked;
    asked.push_back(ask(game[0], 50));
    for (std::size_t i = 1; i < 4; ++i) {
      const auto when =
          std::chrono::microseconds(random_below(game.sim.world.random("ask"), 60'000));
      game.sim.world.after(when, [&, i] { asked.push_back(ask(game[i], 50)); });
    }
    game.add();
    game.wait_for([&] {
      return asked.size() == 4 &&
             std::ranges::all_of(asked, [](const auto& each) { return each->has_value(); });
    });
    int created = 0;
    std::vector<ActorRef> refs;
    for (const auto& answers : asked) {
      for (const auto& answer : **answers) {
        INFO((answer ? std::string() : to_string(answer.error())));
        REQUIRE(answer.has_value());
        REQUIRE_FALSE(std::holds_alternative<Rejected>(*answer));
        const auto* made = std::get_if<Created>(&*answer);
        created += made != nullptr ? 1 : 0;
        refs.push_back(made != nullptr ? made->actor : std::get<Existing>(*answer).actor);
      }
    }
    CHECK(created == 1);
    CHECK(refs == std::vector<ActorRef>(200, refs.front()));
    CHECK(game.journal().count("configure anna") == 1);
    CHECK(game.journal().count("on_create_actor anna") == 1);
    std::uint64_t living = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      living += game.actors(i).active;
      CHECK(game.actors(i).pending == 0);
      CHECK(game[i].core().creations->under_way() == 0);
    }
    CHECK(living == 1);
  }
}

TEST_CASE(
    "an id whose node stalls past its lease is made elsewhere, and the stalled node exposes "
    "nothing when it wakes",
    "[CREATE-15][CREATE-09]") {
  Stalling game;
  const auto asked = game.begin(3s);
  game[game.chosen].sim().pause();
  game.wait_for([&] { return asked->has_value(); }, 4s);
  check_error(**asked, ErrorKind::DeadlineExceeded, "anna");
  CHECK_FALSE(game[0].find("anna").has_value());
  const ActorRef anna = game.made_at_last();
  CHECK(anna.node_rid == game[3 - game.chosen].core().identity.rid);
  game[game.chosen].sim().resume();
  game.latch.open();
  game.sim.run_for(10s);
  CHECK(game[game.chosen].fenced_with.has_value());
  game.check_lives_only_as(anna);
}

TEST_CASE("a node that stalls for less than its lease gives back what its caller waits for no more",
          "[CREATE-15][CREATE-09]") {
  Stalling game;
  const auto asked = game.begin(2s);
  game[game.chosen].sim().pause();
  game.wait_for([&] { return asked->has_value(); }, 3s);
  check_error(**asked, ErrorKind::DeadlineExceeded, "anna");
  game.sim.run_for(2s);
  game[game.chosen].sim().resume();
  game.latch.open();
  game.sim.run_for(1s);
  CHECK_FALSE(game[game.chosen].fenced_with.has_value());
  CHECK_FALSE(game[0].find("anna").has_value());
  CHECK(game.actors(game.chosen).total() == 0);
  game.check_lives_only_as(game.made_at_last());
}

TEST_CASE("a node that dies while it creates leaves no stuck id", "[CREATE-15][LOSS-05]") {
  Stalling game;
  const auto asked = game.begin(30s);
  const Instant died = game.sim.world.now();
  game[game.chosen].crash();
  game.wait_for([&] { return asked->has_value(); }, 30s);
  CHECK_FALSE((*asked)->has_value());
  const ActorRef anna = game.made_at_last();
  CHECK(anna.node_rid == game[3 - game.chosen].core().identity.rid);
  CHECK(game.sim.world.now() - died < 40s);
  CHECK(game[0].core().creations->under_way() == 0);
  CHECK(game.journal().count("on_create_actor anna") == 2);
}

// Start, lease and end of a node's object side.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <string_view>

#include "checks.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

TEST_CASE("a lease whose times do not go together stops the start", "[STORE-04]") {
  TestWorld sim;
  Application app;
  ObjectsConfig config;
  config.lease.renew_interval = 7s;
  CHECK_THROWS_AS(TestNode(sim.world, sim.store, app, "one", config), ConfigurationError);
}

TEST_CASE("a factory or configure of the Entry Spot that throws stops the start") {
  TestWorld sim;
  Application app;
  Hooks hooks;
  app.mesh("play").object_server().entry_spot<Hall>([](auto& f) {
    f.create_with(
        [](SpotContext&) -> std::unique_ptr<Hall> { throw std::runtime_error("no hall"); });
  });
  TestNode node(sim.world, sim.store, app, "one");
  check_error(node.start(), ErrorKind::InternalFailure, "no hall");
}

TEST_CASE("a clean stop closes rooms, frees every id at once and leaves no record", "[LOSS-05]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  one.journal().take();
  one->stop();
  CHECK(one.journal().take() == std::vector<std::string>{"on_closing red Shutdown"});
  CHECK(one.sim.store.contents("spotmesh/actor/").empty());
  CHECK(one.sim.store.contents("spotmesh/spot/").empty());

  TestNode two(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(two.start().has_value());
  const auto created = two.create("anna", "pawn");
  CHECK(std::holds_alternative<Created>(*created));
}

TEST_CASE("a stop lets accepted work end, refuses new work, and ends the rest at its deadline",
          "[MSG-03]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  Latch short_work;
  Latch endless;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 1) {
      co_await short_work.wait();
      auto late = co_await context.actors().create("late", "pawn").submit();
      check_error(late, ErrorKind::ShuttingDown);
      co_return probe::Poked{.text = "done"};
    }
    co_await endless.wait();
    co_return probe::Poked{};
  };
  const auto outcomes =
      one->begin<std::vector<std::string>>([](Context& context) -> Task<std::vector<std::string>> {
        auto first =
            context.actors().request<probe::Poked>("anna", probe::Poke{.value = 1}).submit();
        auto second = context.actors()
                          .request<probe::Poked>("berta", probe::Poke{.value = 2})
                          .timeout(60s)
                          .submit();
        std::vector<std::string> texts;
        for (auto* pending : {&first, &second}) {
          auto reply = co_await std::move(*pending);
          texts.push_back(reply ? reply->text : std::string(to_string(reply.error().kind())));
        }
        co_return texts;
      });
  one.run_for(100ms);
  one.sim.world.after(500ms, [&] { short_work.open(); });
  const Instant begun = one->sim().clock().now();
  one->stop(2s);
  CHECK(one->sim().clock().now() - begun >= 2s);
  CHECK(one->sim().clock().now() - begun < 4s);
  one.run_for(10ms);
  REQUIRE(outcomes->has_value());
  CHECK(**outcomes == std::vector<std::string>{"done", "ShuttingDown"});
  CHECK(one->metrics().requests_in_flight.value() == 0);
}

TEST_CASE("past its admission deadline a node runs no turn until the store is back",
          "[STORE-05][STORE-09][RACE-08]") {
  OneNode one;
  one->born("anna", "pawn");
  one.hooks.poke = [](ActorContext& context, SpotContext&,
                      const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 1) CHECK(context.timers().start("tick", 1s).has_value());
    co_return probe::Poked{};
  };
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.value = 1}).has_value());
  one.sim.store.set_available(false);
  one.run_for(12s);  // longer than TTL - margin since any renewal
  const auto ticks = one.journal().count("tick anna");
  CHECK(ticks >= 4);
  CHECK(ticks <= 11);
  one.run_for(48s);
  CHECK(one.journal().count("tick anna") == ticks);
  one.sim.store.set_available(true);
  one.run_for(10s);
  CHECK(one.journal().count("tick anna") > ticks);
  CHECK_FALSE(one->fenced_with.has_value());
  CHECK(one->find("anna").has_value());
}

namespace {

std::ptrdiff_t times_told(OneNode& one, std::string_view text) {
  return std::ranges::count_if(one.sim.world.trace().lines(), [&](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("the log says once that turns wait for the lease, and once that they go on",
          "[STORE-09]") {
  OneNode one;
  one.run_for(60s);
  CHECK(times_told(one, "this node's lease") == 0);
  one.sim.store.set_available(false);
  one.run_for(4s);  // the last renewal holds for longer
  CHECK(times_told(one, "this node's lease") == 0);
  one.run_for(36s);
  CHECK(times_told(one, "this node's lease has run out: turns wait until it is renewed") == 1);
  CHECK(times_told(one, "this node's lease is renewed") == 0);
  one.sim.store.set_available(true);
  one.run_for(60s);
  CHECK(times_told(one, "this node's lease has run out") == 1);
  CHECK(times_told(one, "this node's lease is renewed: turns go on") == 1);
  one->stop();
  one.run_for(60s);
  CHECK(times_told(one, "this node's lease") == 2);
}

TEST_CASE("the log says once that the store is away, and once that it is back", "[STORE-09]") {
  OneNode one;
  const auto told = [&](std::string_view text) { return times_told(one, text); };
  CHECK(told("the Location Store answers") == 0);
  one.sim.store.set_available(false);
  one.run_for(40s);
  CHECK(told("the Location Store answers no commits") == 1);
  CHECK(told("answers commits again") == 0);
  one.sim.store.set_available(true);
  one.run_for(20s);
  CHECK(told("the Location Store answers no commits") == 1);
  CHECK(told("the Location Store answers commits again") == 1);
}

TEST_CASE("a node that was stopped for longer than its lease is fenced and does nothing more",
          "[STORE-07][LOSS-02][LOSS-03]") {
  OneNode one;
  const ActorRef first = one->born("anna", "pawn");
  REQUIRE(one->request<probe::Answer>("anna", probe::Ask{}).has_value());
  TestNode two(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(two.start().has_value());
  check_error(two.send("anna", probe::Note{}), ErrorKind::Unavailable, "no mesh link");
  one.run_for(12s);  // two has seen the owner alive
  one->sim().pause();
  one.run_for(16s);
  check_error(two.get_or_create("anna", "pawn"), ErrorKind::Unavailable, "lease");
  check_error(two.send("anna", probe::Note{}), ErrorKind::Unavailable);
  one.run_for(16s);
  const auto taken = two.get_or_create("anna", "pawn");
  REQUIRE(taken.has_value());
  const ActorRef second = std::get<Created>(*taken).actor;
  CHECK(second.object_generation != first.object_generation);
  one.journal().take();

  one->sim().resume();
  one.run_for(10s);
  CHECK(one->fenced_with.has_value());
  CHECK(one.journal().lines().empty());
  CHECK(two.find("anna") == second);
  CHECK(two.request<probe::Answer>("anna", probe::Ask{})->text == "anna asked 1");
}

TEST_CASE("two nodes on one store never give one id twice", "[CREATE-07][ID-03]") {
  OneNode one;
  TestNode two(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(two.start().has_value());
  one.run_for(12s);
  std::vector<std::shared_ptr<std::optional<std::vector<std::string>>>> outcomes;
  for (TestNode* node : {&*one.node, &two}) {
    outcomes.push_back(node->begin<std::vector<std::string>>(
        [](Context& context) -> Task<std::vector<std::string>> {
          std::vector<Task<Result<CreateResult>>> pending;
          for (int i = 0; i < 16; ++i) {
            pending.push_back(context.actors().get_or_create("anna", "pawn").timeout(10s).submit());
          }
          std::vector<std::string> kinds;
          for (auto& each : pending) {
            auto result = co_await std::move(each);
            if (!result) {
              kinds.push_back(to_string(result.error()));
            } else if (const auto* created = std::get_if<Created>(&*result)) {
              kinds.push_back("created " + std::to_string(created->actor.object_generation.value));
            } else {
              kinds.push_back(
                  "existing " +
                  std::to_string(std::get<Existing>(*result).actor.object_generation.value));
            }
          }
          co_return kinds;
        }));
  }
  one.run_for(12s);
  std::multiset<std::string> kinds;
  std::set<std::string> generations;
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome->has_value());
    for (const std::string& text : **outcome) {
      kinds.insert(text.substr(0, text.find(' ')));
      generations.insert(text.substr(text.find(' ')));
    }
  }
  CHECK(kinds.count("created") == 1);
  CHECK(kinds.count("existing") == 31);
  CHECK(generations.size() == 1);
  CHECK(one.journal().count("on_create_actor anna") == 1);
}

TEST_CASE("equal seeds give equal runs, others differ") {
  const auto run = [](std::uint64_t seed) {
    OneNode one({}, seed);
    one->room("red", "room");
    for (const std::string id : {"anna", "berta"}) {
      one->born(id, "pawn");
      REQUIRE(one->send(id, probe::Wish{.spot = "red"}).has_value());
    }
    one.run_for(1s);
    one->stop();
    return one.sim.world.trace().hash();
  };
  CHECK(run(3) == run(3));
  CHECK(run(3) != run(4));
}

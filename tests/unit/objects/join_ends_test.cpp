// When the end of a Join is told, and what is left of one that a stop or a death comes before.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/joins.hpp"
#include "objects/registry.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

using Lines = std::vector<std::string>;

location::AuthorityRecord record_of(const testing::SimStore& store, const std::string& id) {
  const std::string key = location::keys::actor(*ActorId::parse(id));
  const Bytes* value = store.peek(key);
  REQUIRE(value != nullptr);
  return *location::decode_authority(key, *value);
}

Lines after(const Lines& lines, const std::string& line) {
  const auto found = std::ranges::find(lines, line);
  INFO("looking for: " << line);
  REQUIRE(found != lines.end());
  return {found + 1, lines.end()};
}

// The Join of Anna at node one to its room.
struct Joining : TwoNodes {
  explicit Joining(std::uint64_t seed = 1)
      : TwoNodes(seed), anna(one->born("anna", "pawn")), red(one->room("red", "room")) {
    // Node two has seen node one alive, so that it can tell when it is dead.
    run_for(11s);
    journal().take();
  }
  void begin() {
    REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
    REQUIRE(sim.world.run_until([&] { return journal().count("deferred anna") == 1; }, 5s) ==
            testing::SimOutcome::Done);
  }
  bool has_told(std::string_view part) const {
    return std::ranges::any_of(hooks.journal.lines(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }
  ActorRef taken_over() {
    std::optional<ActorRef> taken;
    for (int i = 0; i < 120 && !taken.has_value(); ++i) {
      run_for(500ms);
      const auto result = two->get_or_create("anna", "pawn");
      if (!result) continue;
      if (const auto* created = std::get_if<Created>(&*result)) taken = created->actor;
    }
    REQUIRE(taken.has_value());
    return *taken;
  }

  ActorRef anna;
  SpotRef red;
};

}  // namespace

TEST_CASE("the end of a Join is told before every message that waited for it, however it ended",
          "[JOIN-07][DEFER-13]") {
  const std::string end = GENERATE(as<std::string>(), "accepted with a reply", "rejected",
                                   "failed InternalFailure", "failed NotFound");
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    if (end == "failed InternalFailure") throw std::runtime_error("no");
    co_return end == "rejected" ? JoinDecision::reject() : JoinDecision::accept(probe::Note{});
  };
  // Not even while the callback waits for something does one of them run.
  one.hooks.on_join_completed = [&](ActorContext& context, const JoinCompletion&) -> Task<void> {
    (void)co_await context.run_cpu_worker([] {}).submit();
    one.journal().note("completion has ended");
  };
  const std::string spot = end == "failed NotFound" ? "nowhere" : "red";
  REQUIRE(one->send("anna", probe::Wish{.spot = spot}).has_value());
  for (const std::string text : {"0", "1", "2"}) {
    REQUIRE(one->send("anna", probe::Note{.text = text}).has_value());
  }
  one.run_for(1s);
  CHECK(after(one.journal().lines(), "completed anna " + end) ==
        Lines{"completion has ended", "anna notes 0", "anna notes 1", "anna notes 2"});
}

TEST_CASE("while a Join is under way another is Unavailable, and messages are held",
          "[ERR-03][DEFER-11]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  one->room("blue", "room");
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  Latch latch;
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    co_await latch.wait();
    co_return JoinDecision::accept();
  };
  one.journal().take();
  REQUIRE(one->send("anna", probe::Wish{.spot = "blue"}).has_value());
  one.run_for(100ms);
  REQUIRE(one.journal().count("on_actor_join blue anna") == 1);
  // Her room may ask for a Join of its member, too.
  one.hooks.poke_spot = [](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    auto second = spot.members<Pawn>().at(0)->context().join_entry_spot().defer();
    check_error(second, ErrorKind::Unavailable, "pending");
    co_return probe::Poked{};
  };
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  CHECK(one->send("anna", probe::Note{.text = "held"}).has_value());
  one.run_for(1s);
  CHECK(one.journal().count("anna notes held") == 0);
  latch.open();
  one.run_for(1s);
  CHECK(after(one.journal().lines(), "completed anna accepted") == Lines{"anna notes held"});
  CHECK(one->spot_of("anna")->spot_id.text() == "blue");
}

TEST_CASE("a Join that the stop of its node comes before fails with ShuttingDown",
          "[JOIN-12][JOIN-04]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  const auto before = record_of(one.sim.store, "anna");
  const std::string spot = GENERATE(as<std::string>(), "red", "elsewhere");
  Latch latch;
  SECTION("when it is registered") {
    one.hooks.poke = [&](ActorContext& context, SpotContext&,
                         const probe::Poke&) -> Task<Result<probe::Poked>> {
      co_await latch.wait();
      CHECK(context.join_spot(spot).defer().has_value());
      co_return probe::Poked{};
    };
    one->begin<Result<probe::Poked>>([](Context& context) {
      return context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
    });
  }
  SECTION("while the room makes up its mind") {
    one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                  const Message&) -> Task<JoinDecision> {
      co_await latch.wait();
      co_return JoinDecision::accept();
    };
    REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  }
  one.run_for(100ms);
  std::optional<location::AuthorityRecord> while_stopping;
  one.hooks.on_join_completed = [&](ActorContext&, const JoinCompletion&) -> Task<void> {
    while_stopping = record_of(one.sim.store, "anna");
    co_return;
  };
  one.sim.world.after(500ms, [&] { latch.open(); });
  one->stop();
  CHECK(one.journal().count("completed anna failed ShuttingDown") == 1);
  CHECK(one.journal().count("on_joined_actor red anna") == 0);
  CHECK(while_stopping == before);
}

TEST_CASE("a Join that has come to its commit is not ended by the stop of its node", "[JOIN-12]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    one.sim.store.behavior().min_latency = 200ms;
    one.sim.store.behavior().max_latency = 200ms;
    co_return JoinDecision::accept();
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(100ms);
  REQUIRE(one.journal().count("on_actor_join red anna") == 1);
  REQUIRE(one.journal().count("on_joined_actor red anna") == 0);
  one->stop();
  CHECK(one.journal().count("on_joined_actor red anna") == 1);
  CHECK(one.journal().count("completed anna accepted") == 1);
}

namespace {

// What was so when node one was killed so many steps after Anna had registered her Join.
struct Kill {
  bool was_committed = false;
  bool was_applied_later = false;  // its commit was on its way
};

Kill kill_after(std::uint64_t steps, std::uint64_t seed) {
  INFO("seed " << seed << ", killed after " << steps << " steps");
  Joining world(seed);
  world.hooks.on_actor_join = [](SpotContext& spot, std::string_view,
                                 const Message&) -> Task<JoinDecision> {
    (void)co_await spot.run_cpu_worker([] {}).submit();
    co_return JoinDecision::accept();
  };
  const auto before = record_of(world.sim.store, "anna");
  world.begin();
  std::uint64_t left = steps;
  REQUIRE(world.sim.world.run_until([&] { return left-- == 0; }, 5s) == testing::SimOutcome::Done);
  if (record_of(world.sim.store, "anna") != before) return {.was_committed = true};
  // Owner, membership and member list agree, in the process as in the store.
  Registry& registry = *world.one->core().registry;
  CHECK(registry.find_actor("anna")->spot()->is_entry_spot());
  CHECK(registry.find_spot("red")->member_count.load() == 0);
  CHECK(registry.find_spot("red")->members().empty());
  CHECK_FALSE(world.has_told("on_joined_actor"));
  CHECK_FALSE(world.has_told("completed"));
  world.one->crash();
  world.journal().take();
  // What had been sent may still be applied, and then only as a whole.
  world.run_for(1s);
  const auto kept = record_of(world.sim.store, "anna");
  CHECK(kept.owner == before.owner);
  CHECK(kept.owner_generation == before.owner_generation);
  if (kept != before) CHECK(kept.membership->spot == world.red.spot_id);
  TestNode again(world.sim, world.app, "one again");
  REQUIRE(again.start().has_value());
  const ActorRef anna = world.taken_over();
  world.run_for(10s);
  CHECK(anna.object_generation > world.anna.object_generation);
  CHECK(world.two->find("anna") == anna);
  CHECK(again.spot_of("anna")->node_rid == world.two->core().identity.rid);
  CHECK(again.spot_of("anna")->spot_id.text() != "red");
  for (const std::string part :
       {"on_actor_join", "on_joined_actor", "on_leave_actor", "completed"}) {
    CHECK_FALSE(world.has_told(part));
  }
  return {.was_applied_later = kept != before};
}

}  // namespace

TEST_CASE(
    "a process that is killed between defer() and the commit leaves the old state, and nobody "
    "replays the Join",
    "[JOIN-13][JOIN-14]") {
  int kills = 0;
  int applied_later = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (std::uint64_t steps = 0;; ++steps) {
      const Kill kill = kill_after(steps, seed);
      if (kill.was_committed) break;
      ++kills;
      applied_later += kill.was_applied_later ? 1 : 0;
    }
  }
  // Most of them before anything was sent, and some while the commit was on its way.
  INFO(kills << " kills, " << applied_later << " commits on their way");
  CHECK(kills >= 40);
  CHECK(applied_later >= 5);
  CHECK(applied_later < kills / 2);
}

namespace {

// An Actor that does not want to hear of it.
class Quiet : public Actor {
 public:
  using Actor::Actor;
  static void handlers(ActorHandlers<Quiet>& on) { on.send(&Quiet::wish); }
  Result<void> wish(const probe::Wish& wish) {
    auto deferred = context().join_spot(wish.spot).defer();
    if (!deferred) return fail(deferred.error());
    return {};
  }
};
class Porch : public EntrySpot<Quiet> {
 public:
  using EntrySpot::EntrySpot;
};
class Parlour : public UserSpot<Quiet> {
 public:
  using UserSpot::UserSpot;
};

}  // namespace

TEST_CASE("an Actor without on_join_completed joins all the same", "[JOIN-14]") {
  Application app;
  app.packets(probe::packets());
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Porch>();
  play.actor<Quiet>("quiet", [](auto& f) { f.disable_relocation(); });
  play.user_spot<Parlour>("parlour", [](auto& f) { f.disable_relocation(); });
  TestWorld sim;
  TestNode node(sim, app, "one");
  REQUIRE(node.start().has_value());
  node.born("anna", "quiet");
  node.room("red", "parlour");
  REQUIRE(node.send("anna", probe::Wish{.spot = "red"}).has_value());
  sim.run_for(1s);
  CHECK(node.spot_of("anna")->spot_id.text() == "red");
  CHECK(node.core().joins->under_way() == 0);
  CHECK_FALSE(node.core().registry->find_actor("anna")->is_in_transition());
}

TEST_CASE("a completion carries the id that defer() gave, and comes once", "[JOIN-14][JOIN-03]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  std::vector<OperationId> given;
  std::vector<OperationId> told;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    auto deferred = poke.text.empty() ? context.join_entry_spot().defer()
                                      : context.join_spot(poke.text).defer();
    REQUIRE(deferred.has_value());
    given.push_back(*deferred);
    co_return probe::Poked{};
  };
  one.hooks.on_join_completed = [&](ActorContext&, const JoinCompletion& end) -> Task<void> {
    told.push_back(operation_id_of(end));
    co_return;
  };
  for (const std::string spot : {"red", "nowhere", "", "red"}) {
    REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.text = spot}).has_value());
    one.run_for(30s);
  }
  CHECK(told == given);
  std::ranges::sort(given);
  CHECK(std::ranges::adjacent_find(given) == given.end());
}

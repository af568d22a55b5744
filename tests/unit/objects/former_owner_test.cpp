// What a former owner had under way when its objects were taken over.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "checks.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/registry.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
namespace keys = spotmesh::location::keys;

namespace {

// Node one has Anna and a room. It stands still while something of their lives is under way, and
// node two takes both over.
struct FormerOwner : TwoNodes {
  FormerOwner() : anna(one->born("anna", "pawn")), red(one->room("red", "room")) {
    run_for(11s);  // node two has seen node one alive
    sim.store.behavior().min_latency = 1ms;
    sim.store.behavior().max_latency = 1ms;
    sim.store.behavior().strays_per_mille = 0;
    journal().take();
  }
  std::optional<location::AuthorityRecord> record(const std::string& key) {
    const Bytes* value = sim.store.peek(key);
    if (value == nullptr) return {};
    return *location::decode_authority(key, *value);
  }
  std::optional<location::AuthorityRecord> anna_record() {
    return record(keys::actor(anna.actor_id));
  }
  std::optional<location::AuthorityRecord> red_record() { return record(keys::spot(red.spot_id)); }

  // From now on, for a moment, what is sent to the store comes there only `late`.
  void hold_up(Duration late) {
    sim.store.behavior().stray_latency = late;
    sim.store.behavior().strays_per_mille = 1000;
    sim.world.after(4ms, [this] { sim.store.behavior().strays_per_mille = 0; });
  }
  void begin(const std::string& work, Duration late) {
    if (work == "Join") {
      hooks.on_actor_join = [this, late](SpotContext&, std::string_view,
                                         const Message&) -> Task<JoinDecision> {
        hold_up(late);
        co_return JoinDecision::accept();
      };
      REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
      return run_for(20ms);
    }
    hold_up(late);
    if (work == "destroy") {
      one->begin<Result<bool>>(
          [ref = anna](Context& context) { return context.actors().destroy(ref); });
    } else {
      one->begin<Result<bool>>(
          [ref = red](Context& context) { return context.spots().close(ref); });
    }
    run_for(20ms);
  }
  void take_over() {
    bool has_anna = false;
    bool has_red = false;
    for (int i = 0; i < 100 && !(has_anna && has_red); ++i) {
      run_for(500ms);
      const auto actor = two->get_or_create("anna", "pawn");
      has_anna = has_anna || (actor && std::holds_alternative<Created>(*actor));
      const auto spot = two->call<Result<SpotCreateResult>>(
          [](Context& context) { return context.spots().get_or_create("red", "room").submit(); });
      has_red = has_red || (spot && std::holds_alternative<SpotCreated>(*spot));
    }
    REQUIRE(has_anna);
    REQUIRE(has_red);
  }
  // Both live at node two and nowhere else, as they did when it had taken them over.
  void check_untouched(const std::optional<location::AuthorityRecord>& anna_before,
                       const std::optional<location::AuthorityRecord>& red_before) {
    CHECK(anna_record() == anna_before);
    CHECK(red_record() == red_before);
    const auto& rid = two->core().identity.rid;
    CHECK(two->find("anna")->node_rid == rid);
    CHECK(two->spot_of("anna")->spot_id.text() != "red");
    CHECK(two->request<probe::Poked>("anna", probe::Poke{})->text == "hall");
    CHECK(two->request_of_spot<probe::Answer>("red", probe::Ask{})->text == "red");
    CHECK(two->core().registry->find_spot("red")->member_count.load() == 0);
    for (const std::string line :
         {"on_actor_join red anna", "on_joined_actor red anna", "on_leave_actor hall anna",
          "completed anna accepted", "completed anna accepted with a reply",
          "on_closing red Requested"}) {
      INFO(line);
      CHECK(journal().count(line) == 0);
    }
  }

  ActorRef anna;
  SpotRef red;
};

}  // namespace

TEST_CASE("lifecycle work of a former owner that comes late is refused and changes nothing",
          "[TURN-13][STORE-06][LOSS-03]") {
  const std::string work = GENERATE(as<std::string>(), "Join", "destroy", "close");
  INFO(work);
  {
    // That it is on its way, and would change something, were its sender still the owner.
    FormerOwner world;
    const auto anna = world.anna_record();
    const auto red = world.red_record();
    world.begin(work, 2s);
    world.one->sim().pause();
    world.run_for(1s);
    CHECK(world.anna_record() == anna);
    CHECK(world.red_record() == red);
    world.run_for(2s);
    if (work == "close") {
      CHECK_FALSE(world.red_record() == red);
    } else {
      CHECK_FALSE(world.anna_record() == anna);
    }
    world.one->sim().resume();
  }
  FormerOwner world;
  world.begin(work, 60s);
  world.one->sim().pause();
  world.take_over();
  const auto anna = world.anna_record();
  const auto red = world.red_record();
  CHECK(anna->owner.rid == world.two->core().identity.rid);
  CHECK(red->owner.rid == world.two->core().identity.rid);
  world.journal().take();
  world.run_for(60s);  // it has come by now
  world.check_untouched(anna, red);
  world.one->sim().resume();
  world.run_for(30s);
  CHECK(world.one->fenced_with.has_value());
  world.check_untouched(anna, red);
}

TEST_CASE("an owner that wakes after the take-over goes on with nothing", "[TURN-13][LOSS-03]") {
  FormerOwner world;
  Latch latch;
  world.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                  const Message&) -> Task<JoinDecision> {
    co_await latch.wait();
    co_return JoinDecision::accept();
  };
  REQUIRE(world.one->send("anna", probe::Wish{.spot = "red", .timeout_ms = 600'000}).has_value());
  world.run_for(100ms);
  REQUIRE(world.journal().count("on_actor_join red anna") == 1);
  world.one->sim().pause();
  world.take_over();
  const auto anna = world.anna_record();
  const auto red = world.red_record();
  world.hooks.on_actor_join = nullptr;
  world.journal().take();
  latch.open();
  world.one->sim().resume();
  const auto destroyed = world.one->begin<Result<bool>>(
      [ref = world.anna](Context& context) { return context.actors().destroy(ref); });
  const auto closed = world.one->begin<Result<bool>>(
      [ref = world.red](Context& context) { return context.spots().close(ref); });
  world.run_for(30s);
  CHECK(world.one->fenced_with.has_value());
  for (const auto& outcome : {destroyed, closed}) {
    const bool was_done = outcome->has_value() && (*outcome)->has_value() && ***outcome;
    CHECK_FALSE(was_done);
  }
  world.check_untouched(anna, red);
}

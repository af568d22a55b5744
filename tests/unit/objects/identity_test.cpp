// What an object is known by: its id and stable type, never the class that happens to make it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "checks.hpp"
#include "heard_transport.hpp"
#include "many_nodes.hpp"
#include "mesh/mesh_node.hpp"
#include "testing/sim_network.hpp"
#include "testing/world_observer.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// Two servers' classes for the same stable types.
class Alchemist : public Actor {
 public:
  using Actor::Actor;
  static void handlers(ActorHandlers<Alchemist>& on) { on.request(&Alchemist::ask); }
  probe::Answer ask(const probe::Ask&) { return {.text = "gold"}; }
};
class Laboratory : public EntrySpot<Alchemist> {
 public:
  using EntrySpot::EntrySpot;
};
class Cauldron : public UserSpot<Alchemist> {
 public:
  using UserSpot::UserSpot;
  static void handlers(Handlers<Cauldron>& on) { on.request(&Cauldron::ask); }
  probe::Answer ask(const probe::Ask&) { return {.text = "steam"}; }
};

class Blacksmith : public Actor {
 public:
  using Actor::Actor;
  static void handlers(ActorHandlers<Blacksmith>& on) { on.request(&Blacksmith::ask); }
  probe::Answer ask(const probe::Ask&) { return {.text = "iron"}; }
};
class Smithy : public EntrySpot<Blacksmith> {
 public:
  using EntrySpot::EntrySpot;
};
class Furnace : public UserSpot<Blacksmith> {
 public:
  using UserSpot::UserSpot;
  static void handlers(Handlers<Furnace>& on) { on.request(&Furnace::ask); }
  probe::Answer ask(const probe::Ask&) { return {.text = "glow"}; }
};

template <typename Craftsman, typename Entry, typename Workshop>
void configure_crafts(Application& app) {
  app.packets(probe::packets());
  ObjectServer& play = app.mesh("play").object_server();
  play.entry_spot<Entry>();
  play.actor<Craftsman>("craftsman", [](auto& f) { f.recreate_on_relocation(); });
  play.user_spot<Workshop>("workshop", [](auto& f) { f.disable_relocation(); });
}

// What is committed to the store, as bytes.
class Records final : public testing::WorldObserver {
 public:
  void on_commit(const testing::SimStore&, std::string_view, const location::Commit& commit,
                 Instant) override {
    for (const auto& write : commit.writes) {
      bytes += write.key;
      if (write.value.has_value()) bytes += as_text(*write.value);
    }
  }
  std::string bytes;
};

// A node that others can hear and be heard by, until it crashes.
class Server {
 public:
  Server(TestWorld& sim, const Application& app, const std::string& name, std::string& heard,
         Made made = Made::Here)
      : node(sim.world, sim.store, app, name, making({}, made)),
        network_(sim.network.attach(node.sim())),
        transport_(*network_, heard),
        mesh_(node.self(), {.secret = "open sesame", .listen_address = name + ":1"},
              mesh::MeshSeams{.clock = node.sim().clock(),
                              .scheduler = node.sim().scheduler(),
                              .timers = node.sim().timers(),
                              .transport = transport_,
                              .random = node.sim().random(),
                              .log = node.sim().log(),
                              .events = node.sim().events(),
                              .addresses = node.node().addresses(),
                              .handler = node.node().peer_handler()}) {
    node.node().set_peers(mesh_);
    const auto bound = mesh_.start();
    REQUIRE(bound.has_value());
    node.node().set_advertised_address(*bound);
    REQUIRE(node.start().has_value());
  }
  ~Server() {
    if (network_) crash();
  }
  void crash() {
    node.crash();
    mesh_.abandon();
    network_.reset();
  }

  TestNode node;

 private:
  std::unique_ptr<testing::SimTransport> network_;
  HeardTransport transport_;
  mesh::MeshNode mesh_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string asked(TestNode& node, const std::string& id) {
  const auto answer = node.request<probe::Answer>(id, probe::Ask{});
  INFO((answer ? std::string() : to_string(answer.error())));
  REQUIRE(answer.has_value());
  return answer->text;
}

bool know_each_other(TestWorld& sim, const std::vector<TestNode*>& nodes) {
  const auto do_all = [&] {
    return std::ranges::all_of(nodes, [&](TestNode* one) {
      return std::ranges::all_of(
          nodes, [&](TestNode* other) { return one == other || sees_alive(*one, *other); });
    });
  };
  return sim.world.run_until(do_all, 60s) == testing::SimOutcome::Done;
}

// Asks for her, whose node has died, until she is made anew.
ActorRef taken_over(TestWorld& sim, TestNode& node, const std::string& id,
                    const std::string& type) {
  std::optional<ActorRef> taken;
  for (int i = 0; i < 120 && !taken.has_value(); ++i) {
    sim.run_for(500ms);
    const auto result = node.get_or_create(id, type);
    if (!result) continue;
    if (const auto* created = std::get_if<Created>(&*result)) taken = created->actor;
  }
  REQUIRE(taken.has_value());
  return *taken;
}

}  // namespace

TEST_CASE("servers whose classes differ share a stable type, and no class is named outside them",
          "[ID-04]") {
  Records records;
  std::string frames;
  Application alchemy;
  Application smithery;
  configure_crafts<Alchemist, Laboratory, Cauldron>(alchemy);
  configure_crafts<Blacksmith, Smithy, Furnace>(smithery);
  TestWorld sim;
  sim.store.watch(records);
  Server alchemists(sim, alchemy, "one", frames);
  Server smiths(sim, smithery, "two", frames);
  Server more_smiths(sim, smithery, "three", frames, Made::WherePlaced);
  TestNode& one = alchemists.node;
  TestNode& two = smiths.node;
  TestNode& three = more_smiths.node;
  REQUIRE(know_each_other(sim, {&one, &two, &three}));

  // Made where it is asked for: each server with its own class.
  one.born("anna", "craftsman");
  two.born("bert", "craftsman");
  one.room("cellar", "workshop");
  two.room("yard", "workshop");
  for (auto* node : {&one, &two}) {
    CHECK(asked(*node, "anna") == "gold");
    CHECK(asked(*node, "bert") == "iron");
    for (const std::string id : {"anna", "bert"}) {
      const auto existing = node->get_or_create(id, "craftsman");
      REQUIRE(existing.has_value());
      CHECK(std::holds_alternative<Existing>(*existing));
    }
    CHECK(node->request_of_spot<probe::Answer>("cellar", probe::Ask{})->text == "steam");
    CHECK(node->request_of_spot<probe::Answer>("yard", probe::Ask{})->text == "glow");
  }
  // Made where placement says, by the class of the server that is chosen.
  int made_by_one = 0;
  for (const std::string id : {"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"}) {
    const bool is_by_one = three.born(id, "craftsman").node_rid == one.core().identity.rid;
    made_by_one += is_by_one ? 1 : 0;
    CHECK(asked(three, id) == (is_by_one ? "gold" : "iron"));
  }
  CHECK(made_by_one > 0);

  // And made anew by the other class when its server is lost.
  alchemists.crash();
  taken_over(sim, two, "anna", "craftsman");
  CHECK(asked(two, "anna") == "iron");

  CHECK(has(records.bytes, "craftsman"));
  CHECK(has(records.bytes, "workshop"));
  CHECK(has(frames, "craftsman"));
  for (const std::string name :
       {"Alchemist", "Laboratory", "Cauldron", "Blacksmith", "Smithy", "Furnace"}) {
    INFO(name);
    CHECK_FALSE(has(records.bytes, name));
    CHECK_FALSE(has(frames, name));
  }
}

TEST_CASE("an ActorRef is a value of four fields, and what becomes of its Actor does not change it",
          "[REF-01]") {
  using Found = decltype(std::declval<Actors>().find(""));
  STATIC_REQUIRE(std::is_same_v<Found, Task<Result<std::optional<ActorRef>>>>);
  STATIC_REQUIRE(std::is_same_v<decltype(Created::actor), ActorRef>);
  STATIC_REQUIRE(std::is_same_v<decltype(Existing::actor), ActorRef>);
  STATIC_REQUIRE(std::is_same_v<decltype(JoinAccepted::actor), ActorRef>);

  TwoNodes world;
  const ActorRef anna = world.one->born("anna", "pawn");
  const ActorRef held = anna;
  CHECK(held == anna);
  for (const ActorRef& other :
       {ActorRef{*ActorId::parse("Anna"), held.object_generation, held.mesh_name, held.node_rid},
        ActorRef{held.actor_id, {held.object_generation.value + 1}, held.mesh_name, held.node_rid},
        ActorRef{held.actor_id, held.object_generation, "elsewhere", held.node_rid},
        ActorRef{held.actor_id, held.object_generation, held.mesh_name, NodeRid{"another"}}}) {
    CHECK_FALSE(other == held);
  }

  // The same, whoever asks, and whichever Spot she is in.
  std::optional<JoinCompletion> completion;
  world.hooks.on_join_completed = [&](ActorContext&, const JoinCompletion& end) -> Task<void> {
    completion = end;
    co_return;
  };
  world.one->room("red", "room");
  REQUIRE(world.two->send("anna", probe::Wish{.spot = "red"}).has_value());
  world.run_for(1s);
  REQUIRE(completion.has_value());
  CHECK(std::get<JoinAccepted>(*completion).actor == held);
  CHECK(world.one->find("anna") == held);
  CHECK(world.two->find("anna") == held);

  // Another incarnation on another node: the ref that is held goes on to name the first.
  world.run_for(6s);
  world.one->crash();
  const ActorRef again = taken_over(world.sim, *world.two, "anna", "pawn");
  CHECK(world.two->find("anna") == again);
  CHECK(again.node_rid == world.two->core().identity.rid);
  CHECK(again.object_generation > held.object_generation);
  CHECK(held == anna);
  CHECK_FALSE(held == again);
}

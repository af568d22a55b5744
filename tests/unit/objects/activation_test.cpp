// What belongs to one activation of an Actor or Spot, and to no other.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "checks.hpp"
#include "fixture.hpp"
#include "probe.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// What a factory makes for one object alone.
class Notebook {
 public:
  explicit Notebook(std::set<const Notebook*>& living) : living_(living) { living_.insert(this); }
  ~Notebook() { living_.erase(this); }
  Notebook(const Notebook&) = delete;
  Notebook& operator=(const Notebook&) = delete;
  int add() { return ++entries_; }

 private:
  std::set<const Notebook*>& living_;
  int entries_ = 0;
};

class Scribe : public Actor {
 public:
  Scribe(ActorContext& context, std::unique_ptr<Notebook> notebook)
      : Actor(context), notebook_(std::move(notebook)) {}
  static void handlers(ActorHandlers<Scribe>& on) {
    on.request(&Scribe::ask);
    on.send(&Scribe::wish);
  }
  probe::Answer ask(const probe::Ask&) { return {.value = notebook_->add()}; }
  Result<void> wish(const probe::Wish& wish) {
    auto deferred = wish.spot.empty() ? context().join_entry_spot().defer()
                                      : context().join_spot(wish.spot).defer();
    if (!deferred) return fail(deferred.error());
    return {};
  }

 private:
  std::unique_ptr<Notebook> notebook_;
};

class Abbey : public EntrySpot<Scribe> {
 public:
  using EntrySpot::EntrySpot;
};

class Study : public UserSpot<Scribe> {
 public:
  Study(SpotContext& context, std::unique_ptr<Notebook> notebook)
      : UserSpot(context), notebook_(std::move(notebook)) {}
  static void handlers(Handlers<Study>& on) { on.request(&Study::ask); }
  probe::Answer ask(const probe::Ask&) { return {.value = notebook_->add()}; }

 private:
  std::unique_ptr<Notebook> notebook_;
};

struct Monastery {
  Monastery() {
    app.packets(probe::packets());
    auto& play = app.mesh("play").object_server();
    play.entry_spot<Abbey>();
    play.actor<Scribe>("scribe", [this](auto& f) {
      f.disable_relocation().create_with([this](ActorContext& context) {
        return std::make_unique<Scribe>(context, std::make_unique<Notebook>(notebooks));
      });
    });
    play.user_spot<Study>("study", [this](auto& f) {
      f.disable_relocation().create_with([this](SpotContext& context) {
        return std::make_unique<Study>(context, std::make_unique<Notebook>(notebooks));
      });
    });
    node.emplace(sim, app, "one");
    REQUIRE(node->start().has_value());
  }
  int ask(const std::string& id) { return node->request<probe::Answer>(id, probe::Ask{})->value; }
  int ask_spot(const std::string& id) {
    return node->request_of_spot<probe::Answer>(id, probe::Ask{})->value;
  }
  void join(const std::string& id, const std::string& spot) {
    REQUIRE(node->send(id, probe::Wish{.spot = spot}).has_value());
    sim.run_for(1s);
  }

  std::set<const Notebook*> notebooks;
  Application app;
  TestWorld sim;
  std::optional<TestNode> node;
};

}  // namespace

TEST_CASE("handlers and what they depend on belong to one activation, and stay with it in a Join",
          "[REG-09]") {
  Monastery world;
  const ActorRef anna = world.node->born("anna", "scribe");
  world.node->born("bert", "scribe");
  const SpotRef red = world.node->room("red", "study");
  world.node->room("blue", "study");
  CHECK(world.notebooks.size() == 4);
  CHECK(world.ask("anna") == 1);
  CHECK(world.ask("anna") == 2);
  CHECK(world.ask("bert") == 1);
  CHECK(world.ask_spot("red") == 1);
  CHECK(world.ask_spot("red") == 2);
  CHECK(world.ask_spot("blue") == 1);

  // Through Joins they are the same ones.
  const auto before = world.notebooks;
  world.join("anna", "red");
  REQUIRE(world.node->spot_of("anna")->spot_id.text() == "red");
  CHECK(world.ask("anna") == 3);
  world.join("anna", "blue");
  CHECK(world.ask("anna") == 4);
  world.join("anna", "");
  CHECK(world.ask("anna") == 5);
  CHECK(world.notebooks == before);

  // The next incarnation has its own, and those of the former are gone.
  CHECK(world.node->destroy(anna) == true);
  CHECK(world.node->close(red) == true);
  world.sim.run_for(1s);
  CHECK(world.notebooks.size() == 2);
  world.node->born("anna", "scribe");
  CHECK(world.ask("anna") == 1);
  CHECK(world.notebooks.size() == 3);
  world.node.reset();
  CHECK(world.notebooks.empty());
}

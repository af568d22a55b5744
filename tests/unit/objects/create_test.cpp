// Creating, finding and destroying Actors.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "checks.hpp"
#include "objects/capacity.hpp"
#include "objects/creations.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

Capacity::Usage actors_of(OneNode& one) {
  return one->core().capacity->actors(*one->core().application.find_mesh("play"));
}

}  // namespace

TEST_CASE("create on a living id is AlreadyExists and get_or_create gives it",
          "[CREATE-02][CREATE-03]") {
  OneNode one;
  const ActorRef ref = one->born("anna", "pawn");
  one.journal().take();
  const auto commits = one->metrics().store_commits.value();

  check_error(one->create("anna", "pawn"), ErrorKind::AlreadyExists, "anna");
  const auto existing = one->get_or_create("anna", "pawn");
  REQUIRE(existing.has_value());
  REQUIRE(std::holds_alternative<Existing>(*existing));
  CHECK(std::get<Existing>(*existing).actor == ref);
  CHECK(one.journal().lines().empty());
  CHECK(one->metrics().store_commits.value() == commits);
  CHECK(actors_of(one).total() == 1);
}

TEST_CASE("of many get_or_create at one moment one makes the Actor, however slow the store",
          "[CREATE-07]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    OneNode one({}, seed);
    one.sim.store.behavior().max_latency = 20ms;
    one.journal().take();
    int created = 0;
    int existing = 0;
    for (int i = 0; i < 16; ++i) {
      one->core().creations->start(
          {.id = "anna",
           .type = *StableType::parse("pawn"),
           .mesh = one->core().application.find_mesh("play"),
           .accepts_existing = true,
           .deadline = one->core().now() + 5s},
          [&](const CreateEnd& end) {
            const auto& reply = end.result;
            created += reply && reply->kind == CreateReply::Kind::Created ? 1 : 0;
            existing += reply && reply->kind == CreateReply::Kind::Existing ? 1 : 0;
          });
    }
    one.run_for(4s);
    CHECK(created == 1);
    CHECK(existing == 15);
    CHECK(one.journal().take() ==
          std::vector<std::string>{"configure anna", "on_create_actor anna"});
    CHECK(actors_of(one).total() == 1);
  }
}

TEST_CASE("an id of another type is a TypeMismatch that names both types", "[CREATE-04]") {
  OneNode one;
  one->born("anna", "pawn");
  for (const auto& result : {one->create("anna", "rook"), one->get_or_create("anna", "rook")}) {
    check_error(result, ErrorKind::TypeMismatch, "pawn");
    check_error(result, ErrorKind::TypeMismatch, "rook");
  }
}

TEST_CASE("ids that differ in a byte live side by side", "[ID-02]") {
  OneNode one;
  for (const std::string id : {"Player", "player", "\xc3\xa9", "e\xcc\x81"}) {
    one->born(id, "pawn");
    CHECK(one->find(id)->actor_id.text() == id);
  }
  check_error(one->create(std::string(256, 'a'), "pawn"), ErrorKind::InvalidOperation, "ActorId");
  check_error(one->create("x", ""), ErrorKind::InvalidOperation, "stable type");
}

TEST_CASE("a rejected Actor never was, and its reply comes back", "[CREATE-12]") {
  OneNode one;
  one.hooks.on_create_actor = [](Actor&, const Message&) -> Task<CreateDecision> {
    co_return CreateDecision::reject(probe::Note{.text = "no room"});
  };
  const auto result = one->create("anna", "pawn");
  REQUIRE(result.has_value());
  REQUIRE(std::holds_alternative<Rejected>(*result));
  CHECK(std::get<Rejected>(*result).reply.decode<probe::Note>()->text == "no room");
  CHECK_FALSE(one->find("anna").has_value());
  check_error(one->send("anna", probe::Note{}), ErrorKind::NotFound, "anna");
  CHECK(actors_of(one).total() == 0);
  CHECK(one.journal().take() ==
        std::vector<std::string>{"configure hall", "configure anna", "on_create_actor anna"});

  one.hooks.on_create_actor = nullptr;
  one->born("anna", "pawn");
  CHECK(actors_of(one).active == 1);
}

TEST_CASE("the reply of an accepted creation comes back with it", "[CREATE-01]") {
  OneNode one;
  one.hooks.on_create_actor = [](Actor&, const Message& request) -> Task<CreateDecision> {
    co_return CreateDecision::accept(
        probe::Note{.text = "hello " + request.decode<probe::Note>()->text});
  };
  const auto result = one->create("anna", "pawn", Message::of(probe::Note{.text = "Anna"}));
  REQUIRE(result.has_value());
  CHECK(std::get<Created>(*result).reply.decode<probe::Note>()->text == "hello Anna");
  CHECK(one->spot_of("anna")->spot_id.text().starts_with("one-entry-"));
}

TEST_CASE("a throw in factory, configure or on_create_actor fails and gives all back",
          "[CREATE-13]") {
  OneNode one([](ObjectServer& play) {
    play.actor<Pawn>("broken", [](auto& f) {
      f.disable_relocation().create_with(
          [](ActorContext&) -> std::unique_ptr<Pawn> { throw std::runtime_error("no parts"); });
    });
  });
  check_error(one->create("anna", "broken"), ErrorKind::InternalFailure, "no parts");
  one.hooks.configure = [](ActorContext&) { throw std::runtime_error("no plan"); };
  check_error(one->create("anna", "pawn"), ErrorKind::InternalFailure, "no plan");
  one.hooks.configure = nullptr;
  one.hooks.on_create_actor = [](Actor&, const Message&) -> Task<CreateDecision> {
    throw std::runtime_error("no mood");
    co_return CreateDecision::accept();
  };
  check_error(one->create("anna", "pawn"), ErrorKind::InternalFailure, "no mood");
  CHECK(actors_of(one).total() == 0);
  CHECK_FALSE(one->find("anna").has_value());
  one.hooks.on_create_actor = nullptr;
  one->born("anna", "pawn");
}

TEST_CASE("a throw with a text of any size fails the creation at once, and gives all back",
          "[CREATE-13]") {
  OneNode one;
  one.hooks.configure = [](ActorContext&) {
    throw std::runtime_error("no plan: " + std::string(5 * 1024 * 1024, '\xfe'));
  };
  const Instant asked = one->core().now();
  const auto result = one->create("anna", "pawn");
  check_error(result, ErrorKind::InternalFailure, "no plan");
  CHECK(result.error().message().size() < 2 * limits::peer_error_bytes);
  CHECK(one->core().now() - asked < 1s);
  one.run_for(1s);
  CHECK(actors_of(one).total() == 0);
  one.hooks.configure = nullptr;
  one->born("anna", "pawn");
}

TEST_CASE("a factory that passes off another context fails the creation", "[REG-07]") {
  ActorContext* stolen = nullptr;
  Hooks* hooks = nullptr;
  OneNode one([&](ObjectServer& play) {
    play.actor<Pawn>("thief", [&](auto& f) {
      f.disable_relocation().create_with(
          [&](ActorContext&) { return std::make_unique<Pawn>(*stolen, *hooks); });
    });
  });
  hooks = &one.hooks;
  one.hooks.configure = [&](ActorContext& context) { stolen = &context; };
  one->born("victim", "pawn");
  REQUIRE(stolen != nullptr);
  check_error(one->create("anna", "thief"), ErrorKind::InternalFailure, "another context");
  CHECK_FALSE(one->find("anna").has_value());
  CHECK(actors_of(one).total() == 1);
}

TEST_CASE("the factory's context knows who the Actor is, but no Spot yet", "[REG-06]") {
  bool has_run = false;
  OneNode one([&](ObjectServer& play) {
    play.actor<Actor>("plain", [&](auto& f) {
      f.disable_relocation().create_with([&](ActorContext& context) {
        has_run = true;
        CHECK(context.actor_id().text() == "anna");
        CHECK(context.object_generation().value > 0);
        CHECK(context.mesh_name() == "play");
        CHECK_FALSE(context.spot_id().has_value());
        CHECK_FALSE(context.bound_session().is_bound());
        return std::make_unique<Actor>(context);
      });
    });
  });
  // The Entry Spot has members of class Pawn only.
  check_error(one->create("anna", "plain"), ErrorKind::InternalFailure, "EntrySpot");
  CHECK(has_run);
}

TEST_CASE("while an Actor is being made nobody finds it and it counts as pending", "[CREATE-11]") {
  OneNode one;
  Latch latch;
  one.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept();
  };
  const auto created = one->begin<Result<CreateResult>>(
      [](Context& context) { return context.actors().create("anna", "pawn").submit(); });
  REQUIRE(one.sim.world.run_until([&] { return one.journal().count("on_create_actor anna") == 1; },
                                  5s) == testing::SimOutcome::Done);
  CHECK(actors_of(one).pending == 1);
  CHECK(actors_of(one).active == 0);
  latch.open();
  REQUIRE(one.sim.world.run_until([&] { return created->has_value(); }, 5s) ==
          testing::SimOutcome::Done);
  CHECK((*created)->has_value());
  CHECK(actors_of(one).active == 1);
  CHECK(actors_of(one).pending == 0);
}

TEST_CASE("nothing reaches an Actor that is being made", "[CREATE-11][ERR-01]") {
  OneNode one;
  Latch latch;
  one.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept();
  };
  TestNode other(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(other.start().has_value());
  one->begin<Result<CreateResult>>(
      [](Context& context) { return context.actors().create("anna", "pawn").submit(); });
  REQUIRE(one.sim.world.run_until([&] { return one.journal().count("on_create_actor anna") == 1; },
                                  5s) == testing::SimOutcome::Done);
  CHECK_FALSE(other.find("anna").has_value());
  check_error(other.send("anna", probe::Note{}), ErrorKind::Unavailable, "being created");
  latch.open();
}

TEST_CASE("a slow factory ends the creation at its deadline", "[CREATE-09]") {
  Latch latch;
  OneNode one([&](ObjectServer& play) {
    play.actor<Pawn>("slow", [&](auto& f) {
      f.disable_relocation().create_with([&](ActorContext&) -> Task<std::unique_ptr<Pawn>> {
        co_await latch.wait();
        co_return nullptr;
      });
    });
  });
  const Instant begun = one->sim().clock().now();
  const auto result = one->call<Result<CreateResult>>([](Context& context) {
    return context.actors().create("anna", "slow").timeout(2s).submit();
  });
  check_error(result, ErrorKind::DeadlineExceeded, "anna");
  const Duration took = one->sim().clock().now() - begun;
  CHECK(took >= 2s);
  CHECK(took < 2100ms);
  one.run_for(100ms);
  CHECK(actors_of(one).total() == 0);
  one->born("anna", "pawn");
  latch.open();
  one.run_for(1s);
  CHECK(one->find("anna").has_value());
  CHECK(actors_of(one).total() == 1);
}

TEST_CASE("options and submissions count once", "[CREATE-08]") {
  OneNode one;
  const auto twice = one->call<Result<CreateResult>>([](Context& context) {
    return context.actors().create("anna", "pawn").timeout(1s).timeout(2s).submit();
  });
  check_error(twice, ErrorKind::InvalidOperation, "timeout");
  check_error(one->call<Result<CreateResult>>([](Context& context) {
    return context.actors().create("anna", "pawn").in_mesh("play").in_mesh("play").submit();
  }),
              ErrorKind::InvalidOperation, "in_mesh");
  check_error(one->call<Result<CreateResult>>([](Context& context) {
    return context.actors()
        .create("anna", "pawn")
        .request(probe::Note{})
        .request(probe::Note{})
        .submit();
  }),
              ErrorKind::InvalidOperation, "request");
  CHECK_FALSE(one->find("anna").has_value());

  using Both = std::pair<Result<CreateResult>, Result<CreateResult>>;
  const auto both = one->call<Both>([](Context& context) -> Task<Both> {
    auto call = context.actors().create("anna", "pawn");
    auto first = call.submit();
    auto second = co_await call.submit();
    auto third = co_await call.yield();
    CHECK(third.error().kind() == ErrorKind::InvalidOperation);
    co_return Both(co_await std::move(first), std::move(second));
  });
  CHECK(both.first.has_value());
  check_error(both.second, ErrorKind::InvalidOperation, "already");
}

TEST_CASE("a creation request has its bound", "[CREATE-10]") {
  OneNode one;
  const auto request_of = [](std::size_t payload) {
    static const PacketDescriptor& blob = PacketTraits<probe::Blob>::descriptor();
    return Message(blob, SharedBytes(Bytes(payload)));
  };
  REQUIRE(one->create("anna", "pawn", request_of(limits::create_request_bytes)).has_value());
  check_error(one->create("berta", "pawn", request_of(limits::create_request_bytes + 1)),
              ErrorKind::InvalidOperation, "berta");
  CHECK_FALSE(one->find("berta").has_value());
}

TEST_CASE("the mesh of a creation is chosen or refused", "[PLACE-01]") {
  OneNode one;
  check_error(one->call<Result<CreateResult>>([](Context& context) {
    return context.actors().create("anna", "pawn").in_mesh("moon").submit();
  }),
              ErrorKind::NotFound, "moon");
  REQUIRE(one->call<Result<CreateResult>>([](Context& context) {
               return context.actors().create("anna", "pawn").in_mesh("play").submit();
             })
              .has_value());

  TestWorld sim;
  Application nothing;
  TestNode bare(sim.world, sim.store, nothing, "bare");
  REQUIRE(bare.start().has_value());
  check_error(bare.create("anna", "pawn"), ErrorKind::NotConfigured, "object");

  Hooks hooks;
  Application several;
  configure_game(several, hooks);
  several.mesh("other").object_client();
  TestNode both(sim.world, sim.store, several, "both");
  REQUIRE(both.start().has_value());
  check_error(both.create("anna", "pawn"), ErrorKind::InvalidOperation, "in_mesh");
}

TEST_CASE("limits of Actors, Spots, types and pending creations hold", "[PLACE-04]") {
  OneNode one([](ObjectServer& play) { play.actor_limit(2).spot_limit(2).pending_limit(1); });
  one->born("a", "pawn");
  one->born("b", "pawn");
  check_error(one->create("c", "pawn"), ErrorKind::CapacityExceeded, "2 Actors");
  check_error(one->create("c", "no such type"), ErrorKind::Unavailable, "no such type");
  one->room("r1", "room");
  one->room("r2", "room");
  check_error(one->call<Result<SpotCreateResult>>(
                  [](Context& context) { return context.spots().create("room").submit(); }),
              ErrorKind::CapacityExceeded, "2 Spots");
  REQUIRE(one->destroy(*one->find("a")) == true);
  one->born("c", "pawn");
}

TEST_CASE("destroying an Actor frees everything, once", "[DESTROY-01][DESTROY-02][DESTROY-05]") {
  OneNode one;
  const ActorRef ref = one->born("anna", "pawn");
  const BindingIdentity binding{SessionId{1, 1}, LifecycleId{2, 2}, NodeRid{"gate"}, 1};
  one->bindings().bind(ref, binding, [](Result<void> bound) { CHECK(bound.has_value()); });
  one.run_for(1s);
  one.journal().take();
  CHECK(one->destroy(ref) == true);
  CHECK_FALSE(one->find("anna").has_value());
  CHECK(one->sessions.gone == std::vector<std::string>{"anna"});
  CHECK(actors_of(one).total() == 0);
  CHECK(one.sim.store.contents("spotmesh/actor/").empty());
  CHECK(one.journal().lines().empty());  // no leave callback
  CHECK(one->destroy(ref) == false);
  CHECK(one->destroy(ref) == false);
  check_error(one->send("anna", probe::Note{}), ErrorKind::NotFound, "anna");

  const std::string trace = one.sim.world.trace().text();
  const auto ending = trace.find("actor.ending");
  const auto unbound = trace.find("actor.unbound");
  const auto destroyed = trace.find("actor.destroyed");
  CHECK(ending < unbound);
  CHECK(unbound < destroyed);
  CHECK(destroyed != std::string::npos);
}

TEST_CASE("destroy never takes another incarnation", "[DESTROY-03][ID-05]") {
  OneNode one;
  const ActorRef first = one->born("anna", "pawn");
  REQUIRE(one->destroy(first) == true);
  const ActorRef second = one->born("anna", "pawn");
  CHECK(second.object_generation != first.object_generation);
  check_error(one->destroy(first), ErrorKind::InvalidOperation, "generation");
  CHECK(one->find("anna") == second);
  ActorRef outdated = second;
  outdated.node_rid = NodeRid{"elsewhere"};
  CHECK(one->destroy(outdated) == true);
}

TEST_CASE("an Actor in a User Spot is not destroyed, nor one about to move", "[DESTROY-04]") {
  OneNode one;
  const ActorRef ref = one->born("anna", "pawn");
  one->room("red", "room");
  Latch latch;
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    co_await latch.wait();
    co_return JoinDecision::accept();
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  check_error(one->destroy(ref), ErrorKind::Unavailable, "anna");
  latch.open();
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  check_error(one->destroy(ref), ErrorKind::InvalidOperation, "red");
  CHECK(one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("an Entry Spot destroys its members, also from callbacks that hold them",
          "[DESTROY-06]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  one.hooks.on_joined = [&](SpotContext& spot, Actor& actor) -> Task<void> {
    if (actor.context().actor_id().text() != "anna" || spot.spot_id().text() == "red") co_return;
    auto waiting = co_await spot.destroy_actor(actor);
    check_error(waiting, ErrorKind::InvalidOperation, "destroy_actor_after_turn");
    CHECK(spot.destroy_actor_after_turn(actor).has_value());
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(one->find("anna").has_value());
  one.journal().take();
  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  one.run_for(1s);
  CHECK_FALSE(one->find("anna").has_value());
  CHECK(one.journal().take() == std::vector<std::string>{"deferred anna", "on_actor_join hall anna",
                                                         "on_joined_actor hall anna",
                                                         "on_leave_actor red anna",
                                                         "completed anna accepted"});
  CHECK(one->find("berta").has_value());
}

TEST_CASE("a room is created, rejected, found and closed", "[CB-10]") {
  OneNode one;
  const SpotRef red = one->room("red", "room");
  CHECK(one.journal().take() ==
        std::vector<std::string>{"configure hall", "configure room", "on_create red"});
  const auto again = one->call<Result<SpotCreateResult>>(
      [](Context& context) { return context.spots().get_or_create("red", "room").submit(); });
  CHECK(std::get<SpotExisting>(*again).spot == red);
  const auto issued = one->call<Result<SpotCreateResult>>(
      [](Context& context) { return context.spots().create("room").submit(); });
  CHECK(std::get<SpotCreated>(*issued).spot.spot_id.text().size() == 36);

  one.hooks.on_create = [](SpotContext&, const Message&) -> Task<CreateDecision> {
    co_return CreateDecision::reject(probe::Note{.text = "full house"});
  };
  const auto rejected = one->call<Result<SpotCreateResult>>(
      [](Context& context) { return context.spots().get_or_create("blue", "room").submit(); });
  CHECK(std::get<Rejected>(*rejected).reply.decode<probe::Note>()->text == "full house");
  check_error(one->send_to_spot("blue", probe::Poke{}), ErrorKind::NotFound, "blue");

  one->born("anna", "pawn");
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(one->close(red) == false);
  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  one.journal().take();
  CHECK(one->close(red) == true);
  CHECK(one.journal().take() == std::vector<std::string>{"on_closing red Requested"});
  CHECK(one->close(red) == false);
  check_error(one->send_to_spot("red", probe::Poke{}), ErrorKind::NotFound, "red");
  CHECK(one->close(*one->spot_of("anna")).error().kind() == ErrorKind::InvalidOperation);
}

TEST_CASE("close_when_empty closes when the last member has left", "[CB-10]") {
  OneNode one;
  one->room("red", "room");
  one->born("anna", "pawn");
  one.hooks.on_joined = [](SpotContext& spot, Actor&) -> Task<void> {
    if (spot.spot_id().text() == "red") CHECK(spot.close_when_empty().has_value());
    co_return;
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(one.journal().count("on_closing red Empty") == 0);
  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  one.run_for(1s);
  CHECK(one.journal().count("on_closing red Empty") == 1);
  const auto lines = one.journal().take();
  const auto left = std::ranges::find(lines, "on_leave_actor red anna");
  CHECK(std::ranges::find(left, lines.end(), "on_closing red Empty") != lines.end());
  CHECK(one.sim.store.contents("spotmesh/spot/").size() == 1);  // the Entry Spot
}

// Outcomes of Joins, and the callbacks around them.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// The Actor's record as the store has it.
location::AuthorityRecord record_of(OneNode& one, const std::string& id) {
  const std::string key = location::keys::actor(*ActorId::parse(id));
  const auto entries = one.sim.store.contents(key);
  REQUIRE(entries.size() == 1);
  return *location::decode_authority(key, entries.front().stored.value);
}

void join(OneNode& one, const std::string& id, const std::string& spot) {
  REQUIRE(one->send(id, probe::Wish{.spot = spot}).has_value());
  one.run_for(1s);
}

}  // namespace

TEST_CASE("a same-node Join keeps object, context, generations; the store names the Spot",
          "[JOIN-01][JOIN-03][ID-06][ID-07]") {
  OneNode one;
  const ActorRef ref = one->born("anna", "pawn");
  const SpotRef red = one->room("red", "room");
  const auto before = record_of(one, "anna");
  std::optional<JoinCompletion> completion;
  ActorContext* seen_in = nullptr;
  one.hooks.on_join_completed = [&](ActorContext& context,
                                    const JoinCompletion& end) -> Task<void> {
    completion = end;
    seen_in = &context;
    CHECK(context.spot_id()->text() == "red");
    co_return;
  };
  ActorContext* asked_in = nullptr;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    asked_in = &context;
    co_return probe::Poked{};
  };
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  join(one, "anna", "red");
  REQUIRE(completion.has_value());
  const auto& accepted = std::get<JoinAccepted>(*completion);
  CHECK(accepted.actor == ref);
  CHECK(accepted.reply.decode<probe::Note>()->text == "welcome");
  CHECK_FALSE(operation_id_of(*completion).is_none());
  CHECK(asked_in == seen_in);

  const auto after = record_of(one, "anna");
  CHECK(after.object_generation == before.object_generation);
  CHECK(after.owner_generation == before.owner_generation);
  CHECK(after.membership->spot == red.spot_id);
  CHECK(after.membership->spot_generation == red.object_generation);
  CHECK(after.membership->owner_follows_spot);
}

TEST_CASE("a rejected Join changes nothing and calls nobody", "[JOIN-04][CB-06]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  const auto before = record_of(one, "anna");
  one.hooks.on_actor_join = [](SpotContext&, std::string_view,
                               const Message&) -> Task<JoinDecision> {
    co_return JoinDecision::reject(probe::Note{.text = "full"});
  };
  one.hooks.on_join_completed = [](ActorContext&, const JoinCompletion& end) -> Task<void> {
    CHECK(std::get<JoinRejected>(end).reply.decode<probe::Note>()->text == "full");
    co_return;
  };
  one.journal().take();
  join(one, "anna", "red");
  CHECK(one.journal().take() == std::vector<std::string>{"deferred anna", "on_actor_join red anna",
                                                         "completed anna rejected"});
  CHECK(record_of(one, "anna") == before);

  one.hooks.on_join_completed = nullptr;
  one.hooks.on_actor_join = [](SpotContext&, std::string_view,
                               const Message&) -> Task<JoinDecision> {
    throw std::runtime_error("ouch");
    co_return JoinDecision::accept();
  };
  join(one, "anna", "red");
  CHECK(one.journal().take() == std::vector<std::string>{"deferred anna", "on_actor_join red anna",
                                                         "completed anna failed InternalFailure"});
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->text == "hall");
}

TEST_CASE("joining where one is costs nothing", "[JOIN-05]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  const auto commits = [&] { return one->metrics().store_commits.value(); };
  one.journal().take();
  auto before = commits();
  join(one, "anna", "");
  CHECK(one.journal().take() ==
        std::vector<std::string>{"deferred anna", "completed anna accepted"});
  join(one, "anna", "red");
  one.journal().take();
  before = commits();
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(one.journal().take() ==
        std::vector<std::string>{"deferred anna", "completed anna accepted", "red pokes anna"});
  CHECK(commits() == before);
}

TEST_CASE("a Join that cannot be ends with its kind", "[JOIN-08][JOIN-09]") {
  OneNode one;
  TestNode two(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(two.start().has_value());
  two.room("blue", "room");
  one->born("anna", "pawn");  // never moves
  one->born("rosa", "rook");  // moves, once there are links
  one.journal().take();
  join(one, "anna", "nowhere");
  CHECK(one.journal().count("completed anna failed NotFound") == 1);
  join(one, "anna", "blue");
  CHECK(one.journal().count("completed anna failed Rejected") == 1);
  join(one, "rosa", "blue");
  CHECK(one.journal().count("completed rosa failed Unavailable") == 1);
  two.crash();
  one.run_for(30s);
  join(one, "rosa", "blue");
  CHECK(one.journal().count("completed rosa failed Unavailable") == 2);
  one->room("red", "room");
  join(one, "anna", "red");
  CHECK(one->spot_of("anna")->spot_id.text() == "red");
  for (const std::string& line : one.journal().lines()) {
    CHECK(line.find("blue") == std::string::npos);
  }
}

TEST_CASE("a Join whose store is away ends in time, and one with an unknown outcome truthfully",
          "[RACE-04]") {
  using testing::UnknownCommit;
  for (const UnknownCommit kind :
       {UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost}) {
    OneNode one;
    one->born("anna", "pawn");
    one->room("red", "room");
    one.run_for(100ms);
    one->store().make_next_unknown(kind);
    join(one, "anna", "red");
    one.run_for(4s);
    const bool is_in = one->spot_of("anna")->spot_id.text() == "red";
    CHECK(is_in == (one.journal().count("completed anna accepted with a reply") == 1));
    CHECK(is_in == (record_of(one, "anna").membership->spot.text() == "red"));
    CHECK(one->request<probe::Poked>("anna", probe::Poke{})->text == (is_in ? "red" : "hall"));
  }
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  one.sim.store.set_available(false);
  REQUIRE(one->send("anna", probe::Wish{.spot = "red", .timeout_ms = 2000}).has_value());
  one.run_for(3s);
  one.sim.store.set_available(true);
  one.run_for(1s);
  CHECK(one.journal().count("on_joined_actor red anna") == 0);
  CHECK(record_of(one, "anna").membership->spot.text() != "red");
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->text == "hall");
}

TEST_CASE("a Spot that another has written over is not joined", "[RACE-03]") {
  OneNode one;
  one->born("anna", "pawn");
  const SpotRef red = one->room("red", "room");
  // Somebody else's write to the Spot's record while on_actor_join runs.
  const auto writer = one.sim.store.connect("writer");
  one.hooks.on_actor_join = [&](SpotContext& spot, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    const std::string key = location::keys::spot(red.spot_id);
    const auto entry = one.sim.store.contents(key).front();
    bool is_written = false;
    writer->commit({.writes = {{key, entry.stored.value}}},
                   [&](const location::CommitResult&) { is_written = true; });
    while (!is_written) {
      (void)co_await spot.run_cpu_worker([] {}).submit();
    }
    co_return JoinDecision::accept();
  };
  join(one, "anna", "red");
  CHECK(one.journal().count("completed anna failed InvalidOperation") == 1);
  CHECK(one.journal().count("on_joined_actor red anna") == 0);
  CHECK(record_of(one, "anna").membership->spot.text() != "red");
}

TEST_CASE("on_actor_join runs on the room's gate while the Actor is elsewhere", "[CB-08]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  join(one, "berta", "red");
  Latch latch;
  one.hooks.on_actor_join = [&](SpotContext& spot, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    CHECK(spot.member_count() == 1);
    co_await latch.wait();
    co_return JoinDecision::accept();
  };
  one.journal().take();
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one.sim.world.run_until(
              [&] { return one.journal().count("on_actor_join red anna") == 1; }, 5s) ==
          testing::SimOutcome::Done);
  one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("berta", probe::Poke{}).submit();
  });
  one.run_for(1s);
  CHECK(one.journal().count("on_joined_actor red anna") == 0);
  CHECK(one.journal().count("red pokes berta") == 0);  // the gate is taken
  latch.open();
  one.run_for(1s);
  CHECK(one.journal().count("red pokes berta") == 1);
  CHECK(one->spot_of("anna")->spot_id.text() == "red");
}

TEST_CASE("members and broadcasts follow Joins", "[JOIN-01]") {
  OneNode one;
  one->room("red", "room");
  one->room("blue", "room");
  for (const std::string id : {"anna", "berta", "rosa"}) {
    const ActorRef ref = one->born(id, id == "rosa" ? "rook" : "pawn");
    one->bindings().bind(ref, {SessionId{1, id.size()}, LifecycleId{1, 1}, NodeRid{"g"}, 1},
                         [](const Result<void>&) {});
    join(one, id, "red");
  }
  std::vector<std::string> names;
  one.hooks.poke_spot = [&](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    names.clear();
    for (const Pawn* pawn : spot.members<Pawn>()) names.push_back(pawn->name());
    CHECK(spot.members<Rook>().size() == (spot.member_count() == 3 ? 1 : 0));
    CHECK(spot.broadcast(probe::Note{.text = "all"}).has_value());
    co_return probe::Poked{};
  };
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  CHECK(names == std::vector<std::string>{"anna", "berta", "rosa"});
  CHECK(one->sessions.pushes.size() == 3);
  const ByteView first = one->sessions.pushes[0].second.payload().view();
  for (const auto& [session, message] : one->sessions.pushes) {
    CHECK(message.payload().view().data() == first.data());  // encoded once
  }
  // While on_leave_actor of the former Spot may use it, a new member is not handed out.
  Latch latch;
  one.hooks.on_leave = [&](SpotContext& spot, Actor&) -> Task<void> {
    CHECK(spot.spot_id().text() == "red");
    CHECK(spot.member_count() == 2);
    co_await latch.wait();
  };
  one.hooks.on_joined = [](SpotContext& spot, Actor& actor) -> Task<void> {
    CHECK(spot.members<Actor>() == std::vector<Actor*>{&actor});
    co_return;
  };
  join(one, "rosa", "blue");
  REQUIRE(one->request_of_spot<probe::Poked>("blue", probe::Poke{}).has_value());
  CHECK(names.empty());
  one.hooks.on_joined = nullptr;
  latch.open();
  one.run_for(1s);
  one.hooks.on_leave = nullptr;
}

TEST_CASE("two rooms that swap members do not wait for each other", "[CB-02]") {
  OneNode one;
  one->room("red", "room");
  one->room("blue", "room");
  for (int i = 0; i < 8; ++i) {
    const std::string id = "p" + std::to_string(i);
    one->born(id, "pawn");
    join(one, id, i % 2 == 0 ? "red" : "blue");
  }
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 8; ++i) {
      const bool is_red = one->spot_of("p" + std::to_string(i))->spot_id.text() == "red";
      REQUIRE(one->send("p" + std::to_string(i), probe::Wish{.spot = is_red ? "blue" : "red"}));
    }
    one.run_for(1s);
  }
  for (int i = 0; i < 8; ++i) {
    CHECK(one->spot_of("p" + std::to_string(i))->spot_id.text() == (i % 2 == 0 ? "blue" : "red"));
  }
}

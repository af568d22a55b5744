// Registering Joins.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "checks.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

Message blob_of(std::size_t bytes) {
  return Message(PacketTraits<probe::Blob>::descriptor(), SharedBytes(Bytes(bytes)));
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "nothing";
}

// What `act` gets to do in a handler of `anna`, who stays where she is unless it says otherwise.
void in_handler(OneNode& one, std::function<Task<void>(ActorContext&)> act) {
  one.hooks.poke = [&, act = std::move(act)](ActorContext& context, SpotContext&,
                                             const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await act(context);
    co_return probe::Poked{};
  };
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  one.hooks.poke = nullptr;
}

}  // namespace

TEST_CASE("defer() returns at once and nothing happens before the handler has ended",
          "[DEFER-01]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  Latch latch;
  const auto reads = [&] { return one->metrics().store_reads.value(); };
  const auto commits = [&] { return one->metrics().store_commits.value(); };
  std::int64_t before = 0;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    before = reads();
    auto id = context.join_spot("red").defer();
    CHECK(id.has_value());
    CHECK_FALSE(id->is_none());
    co_await latch.wait();
    CHECK(reads() == before);
    co_return probe::Poked{};
  };
  const auto poked = one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  one.run_for(1s);
  const auto written = commits();
  CHECK(one.journal().count("on_actor_join red anna") == 0);
  latch.open();
  one.run_for(1s);
  CHECK(poked->has_value());
  CHECK(one.journal().count("on_joined_actor red anna") == 1);
  CHECK(commits() > written);
}

TEST_CASE("a handler that fails discards its Joins, and what waited runs", "[DEFER-02]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  one.hooks.poke = [](ActorContext& context, SpotContext&,
                      const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value > 0) CHECK(context.join_spot("red").defer().has_value());
    if (poke.value == 1) throw std::runtime_error("ouch");
    if (poke.value == 2) co_return fail(Error::rejected("no"));
    if (poke.value == 3) {
      co_return probe::Poked{.text = std::string(limits::message_bytes + 1, 'x')};
    }
    co_return probe::Poked{};
  };
  for (const int way : {1, 2, 3}) {
    CHECK_FALSE(one->request<probe::Poked>("anna", probe::Poke{.value = way}).has_value());
    CHECK(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
    CHECK(one->spot_of("anna")->spot_id.text() != "red");
  }
  CHECK(one->metrics().unencodable_replies.value() == 1);
  CHECK(one.journal().count("on_actor_join red anna") == 0);
  for (const std::string& line : one.journal().lines()) CHECK_FALSE(line.starts_with("completed"));
}

TEST_CASE("a requester that has given up does not stop the Join", "[DEFER-03]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  Latch latch;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    CHECK(context.join_spot("red").timeout(60s).defer().has_value());
    co_await latch.wait();
    co_return probe::Poked{};
  };
  check_error(one->request<probe::Poked>("anna", probe::Poke{}, 100ms),
              ErrorKind::DeadlineExceeded);
  latch.open();
  one.run_for(1s);
  CHECK(one->spot_of("anna")->spot_id.text() == "red");
}

TEST_CASE("one handler registers 64 Joins and no more", "[DEFER-04][DEFER-14]") {
  OneNode one;
  one->room("red", "room");
  constexpr int members = 65;
  for (int i = 0; i < members; ++i) {
    const std::string id = "p" + std::to_string(i);
    one->born(id, "pawn");
    REQUIRE(one->send(id, probe::Wish{.spot = "red"}).has_value());
  }
  one.run_for(1s);
  std::set<OperationId> ids;
  one.hooks.poke_spot = [&](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    const auto all = spot.members<Pawn>();
    CHECK(all.size() == members);
    for (int i = 0; i < 64; ++i) ids.insert(*all[i]->context().join_entry_spot().defer());
    CHECK(refusal([&] { (void)all[64]->context().join_entry_spot().defer(); }) ==
          "one handler registers at most 64 Joins");
    co_return probe::Poked{};
  };
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  one.run_for(1s);
  CHECK(ids.size() == 64);
  CHECK(one->spot_of("p64")->spot_id.text() == "red");
  for (int i = 0; i < 64; ++i) {
    CHECK(one->spot_of("p" + std::to_string(i))->spot_id.text() != "red");
  }
  REQUIRE(one->send("p64", probe::Wish{}).has_value());
}

TEST_CASE("requests of Joins have their bounds", "[DEFER-05]") {
  OneNode one;
  one->room("red", "room");
  for (int i = 0; i < 9; ++i) {
    const std::string id = "p" + std::to_string(i);
    one->born(id, "pawn");
    REQUIRE(one->send(id, probe::Wish{.spot = "red"}).has_value());
  }
  one.run_for(1s);
  one.hooks.poke_spot = [&](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    const auto all = spot.members<Pawn>();
    CHECK(
        refusal([&] {
          (void)all[0]->context().join_entry_spot(blob_of(limits::join_request_bytes + 1)).defer();
        }).starts_with("the request of a Join has"));
    for (int i = 0; i < 8; ++i) {
      CHECK(all[i]->context().join_entry_spot(blob_of(limits::join_request_bytes)).defer());
    }
    CHECK(refusal([&] {
            (void)all[8]->context().join_entry_spot(blob_of(1)).defer();
          }).starts_with("the requests of all Joins"));
    CHECK(all[8]->context().join_entry_spot().defer().has_value());
    co_return probe::Poked{};
  };
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  one.run_for(1s);
  for (int i = 0; i < 9; ++i) {
    CHECK(one->spot_of("p" + std::to_string(i))->spot_id.text() != "red");
  }
}

TEST_CASE("the request of a Join is fixed when it is described, and empty when omitted",
          "[DEFER-06]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  std::vector<std::string> seen;
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view id,
                                const Message& request) -> Task<JoinDecision> {
    CHECK(id == "anna");
    seen.push_back(request.is_empty() ? "empty" : request.decode<probe::Note>()->text);
    co_return JoinDecision::accept();
  };
  in_handler(one, [](ActorContext& context) -> Task<void> {
    probe::Note note{.text = "first"};
    auto call = context.join_spot("red", note);
    note.text = "changed";
    CHECK(call.defer().has_value());
    co_return;
  });
  one.run_for(1s);
  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  one.run_for(1s);
  CHECK(seen == std::vector<std::string>{"first", "empty"});
}

TEST_CASE("a Join's deadline counts from defer(), the rest of the handler included",
          "[DEFER-07][JOIN-08]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  Latch latch;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    CHECK(context.join_spot("red").defer().has_value());
    co_await latch.wait();
    co_return probe::Poked{};
  };
  const auto poked = one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  one.run_for(5100ms);
  latch.open();
  one.run_for(100ms);
  CHECK(one.journal().count("completed anna failed DeadlineExceeded") == 1);
  CHECK(one.journal().count("on_actor_join red anna") == 0);

  // The admission callback that does not answer in time.
  one.hooks.poke = nullptr;
  Latch admission;
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    co_await admission.wait();
    co_return JoinDecision::accept();
  };
  one.journal().take();
  REQUIRE(one->send("anna", probe::Wish{.spot = "red", .timeout_ms = 300}).has_value());
  one.run_for(290ms);
  CHECK(one.journal().count("completed anna failed DeadlineExceeded") == 0);
  one.run_for(20ms);
  CHECK(one.journal().count("completed anna failed DeadlineExceeded") == 1);
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->text == "hall");
  admission.open();
  one.run_for(1s);
  CHECK(one->spot_of("anna")->spot_id.text() != "red");
}

TEST_CASE("a timeout is 1 to 2^31-1 ms, fractions rounded up", "[DEFER-08]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  in_handler(one, [](ActorContext& context) -> Task<void> {
    for (const Duration bad :
         {Duration(0), Duration(-1), Duration(std::chrono::hours(-1)),
          Duration(std::chrono::milliseconds(0x8000'0000LL)), Duration::max()}) {
      CHECK(refusal([&] { (void)context.join_spot("red").timeout(bad); }) ==
            "the timeout of a Join must lie between 1 and 2147483647 ms");
    }
    for (const Duration good : {Duration(1), Duration(std::chrono::milliseconds(0x7fff'ffff))}) {
      auto call = context.join_spot("red");
      CHECK(refusal([&] { call.timeout(good); }) == "nothing");
    }
    co_return;
  });
  in_handler(one, [](ActorContext& context) -> Task<void> {
    auto twice = context.join_spot("red").timeout(1s).timeout(2s).defer();
    check_error(twice, ErrorKind::InvalidOperation, "timeout");
    co_return;
  });
}

TEST_CASE("handlers and timers register Joins for local members only", "[DEFER-09]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  ActorContext* berta = nullptr;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    berta = &context;
    co_return probe::Poked{};
  };
  REQUIRE(one->request<probe::Poked>("berta", probe::Poke{}).has_value());
  one.hooks.poke = nullptr;
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  one.hooks.tick = [&](ActorContext& context, const TimerTick&) -> Task<void> {
    check_error(berta->join_spot("red").defer(), ErrorKind::InvalidOperation, "no member");
    CHECK(context.join_entry_spot().defer().has_value());
    co_return;
  };
  in_handler(one, [](ActorContext& context) -> Task<void> {
    CHECK(context.timers().start_once("tick", 10ms).has_value());
    co_return;
  });
  one.run_for(1s);
  CHECK(one.journal().count("on_joined_actor hall anna") == 1);
  CHECK(one->spot_of("berta") == one->spot_of("anna"));

  // A Spot's timer, for its member.
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.hooks.spot_tick = [](SpotContext& spot, const TimerTick&) -> Task<void> {
    for (Pawn* pawn : spot.members<Pawn>()) CHECK(pawn->context().join_entry_spot().defer());
    co_return;
  };
  one.hooks.poke_spot = [](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    CHECK(spot.timers().start_once("tick", 10ms).has_value());
    co_return probe::Poked{};
  };
  one.run_for(1s);
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  one.run_for(1s);
  CHECK(one.journal().count("on_joined_actor hall anna") == 2);
}

TEST_CASE("nothing but a running handler registers a Join", "[DEFER-10]") {
  OneNode one;
  std::vector<std::string> refused;
  const auto attempt = [&](ActorContext& context, std::string where) {
    auto deferred = context.join_spot("red").defer();
    if (!deferred && deferred.error().kind() == ErrorKind::InvalidOperation) {
      refused.push_back(std::move(where));
    }
  };
  one.hooks.configure = [&](ActorContext& context) { attempt(context, "configure"); };
  one.hooks.on_create_actor = [&](Actor& actor, const Message&) -> Task<CreateDecision> {
    attempt(actor.context(), "on_create_actor");
    co_return CreateDecision::accept();
  };
  one->born("anna", "pawn");
  one->room("red", "room");
  ActorContext* anna = nullptr;
  one.hooks.on_joined = [&](SpotContext&, Actor& actor) -> Task<void> {
    anna = &actor.context();
    attempt(actor.context(), "on_joined_actor");
    co_return;
  };
  one.hooks.on_leave = [&](SpotContext&, Actor& actor) -> Task<void> {
    attempt(actor.context(), "on_leave_actor");
    co_return;
  };
  one.hooks.on_join_completed = [&](ActorContext& context, const JoinCompletion&) -> Task<void> {
    attempt(context, "on_join_completed");
    co_return;
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  attempt(*anna, "outside");
  CHECK(refused == std::vector<std::string>{"configure", "on_create_actor", "on_joined_actor",
                                            "on_leave_actor", "on_join_completed", "outside"});
  CHECK(one->spot_of("anna")->spot_id.text() == "red");

  // An awaited continuation is inside.
  in_handler(one, [](ActorContext& context) -> Task<void> {
    CHECK((co_await context.run_cpu_worker([] { return 1; }).submit()).has_value());
    CHECK(context.join_entry_spot().defer().has_value());
  });
  one.run_for(1s);
  CHECK(one->spot_of("anna")->spot_id.text() != "red");
}

TEST_CASE("a call is deferred once, and an Actor has one transition at a time", "[DEFER-11]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  in_handler(one, [](ActorContext& context) -> Task<void> {
    auto call = context.join_spot("red");
    CHECK(call.defer().has_value());
    check_error(call.defer(), ErrorKind::InvalidOperation, "already");
    check_error(context.join_entry_spot().defer(), ErrorKind::Unavailable, "pending");
    co_return;
  });
  one.run_for(1s);
  CHECK(one->spot_of("anna")->spot_id.text() == "red");
  CHECK(one.journal().count("on_actor_join red anna") == 1);
}

TEST_CASE("a request that would wait behind one's own barrier is refused", "[DEFER-12]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  for (const std::string id : {"anna", "berta"}) {
    REQUIRE(one->send(id, probe::Wish{.spot = "red"}).has_value());
    one.run_for(1s);
  }
  one.hooks.poke_spot = [](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    CHECK(spot.members<Pawn>()[0]->context().join_entry_spot().defer().has_value());
    auto waiting = co_await spot.actors().request<probe::Poked>("anna", probe::Poke{}).yield();
    check_error(waiting, ErrorKind::InvalidOperation, "behind the Join");
    auto other = co_await spot.actors().request<probe::Poked>("berta", probe::Poke{}).yield();
    CHECK(other.has_value());
    co_return probe::Poked{};
  };
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  one.run_for(1s);
  CHECK(one.journal().count("red pokes anna") == 0);
  CHECK(one.journal().count("on_joined_actor hall anna") == 1);
}

TEST_CASE("messages accepted after the registration wait for the Join", "[DEFER-13][TURN-08]") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  Latch latch;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 1) {
      CHECK(context.join_spot("red").timeout(60s).defer().has_value());
      co_await latch.wait();
    }
    co_return probe::Poked{};
  };
  one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{.value = 1}).submit();
  });
  one.run_for(10ms);
  one.hooks.on_actor_join = [&](SpotContext& spot, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    for (int i = 0; i < 3; ++i) {
      CHECK((co_await spot.actors().send("anna", probe::Note{.text = std::to_string(i)}).submit())
                .has_value());
    }
    co_return JoinDecision::accept();
  };
  latch.open();
  one.run_for(1s);
  const auto lines = one.journal().take();
  const auto completed = std::ranges::find(lines, "completed anna accepted");
  REQUIRE(completed != lines.end());
  CHECK(std::vector<std::string>(completed + 1, lines.end()) ==
        std::vector<std::string>{"anna notes 0", "anna notes 1", "anna notes 2"});
}

// Sends and requests to objects of another node.
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "checks.hpp"
#include "objects/router.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// The body is the same wherever Actor 'anna' and Spot 'red' live.
void play_from(TestNode& caller, TwoNodes& game) {
  REQUIRE(caller.send("anna", probe::Note{.text = "hello"}).has_value());
  auto answer = caller.request<probe::Answer>("anna", probe::Ask{.value = 4});
  REQUIRE(answer.has_value());
  CHECK(answer->value == 5);
  CHECK(answer->text == "anna asked 1");
  CHECK(game.journal().count("anna notes hello") == 1);

  auto of_spot = caller.request_of_spot<probe::Poked>("red", probe::Poke{.value = 7});
  REQUIRE(of_spot.has_value());
  REQUIRE(caller.send_to_spot("red", probe::Blob{}).has_value());  // no handler: nobody learns it

  const auto with_metadata = caller.call<Result<void>>([](Context& context) {
    return context.actors()
        .send("anna", probe::Note{.text = "tagged"})
        .metadata("a", "1")
        .metadata("b", "2")
        .submit();
  });
  REQUIRE(with_metadata.has_value());
  check_error(caller.request<probe::Answer>("anna", probe::Blob{}), ErrorKind::NotFound,
              "probe.Blob");
  const Message damaged(PacketTraits<probe::Ask>::descriptor(), SharedBytes(Bytes(3)));
  check_error(caller.call<Result<probe::Answer>>([&](Context& context) {
    return context.actors().request<probe::Answer>("anna", damaged).submit();
  }),
              ErrorKind::ProtocolError, "probe.Ask");
  check_error(caller.request<probe::Poked>("anna", probe::Ask{}), ErrorKind::ProtocolError);
  game.run_for(50ms);
  CHECK(game.journal().count("anna notes tagged a=1 b=2") == 1);

  for (const ErrorKind kind : {ErrorKind::NotFound, ErrorKind::CapacityExceeded,
                               ErrorKind::ShuttingDown, ErrorKind::InternalFailure}) {
    game.hooks.poke = [kind](ActorContext&, SpotContext&,
                             const probe::Poke&) -> Task<Result<probe::Poked>> {
      co_return fail(Error(kind, "so it is"));
    };
    check_error(caller.request<probe::Poked>("anna", probe::Poke{}), kind, "so it is");
  }
  game.hooks.poke = [](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    throw std::runtime_error("ouch");
    co_return probe::Poked{};
  };
  check_error(caller.request<probe::Poked>("anna", probe::Poke{}), ErrorKind::InternalFailure,
              "ouch");
  game.hooks.poke = nullptr;
  CHECK(caller.request<probe::Answer>("anna", probe::Ask{})->text == "anna asked 3");
}

// Each Poke is answered once the latch is open.
void hold_pokes(TwoNodes& game, Latch& latch) {
  game.hooks.poke = [&latch](ActorContext&, SpotContext&,
                             const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
}

}  // namespace

TEST_CASE("messages are the same for an object of this node and of another",
          "[MSG-01][MSG-02][MSG-12][ERR-04][ERR-05]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  game.one->room("red", "room");
  SECTION("local") { play_from(*game.one, game); }
  SECTION("remote") { play_from(*game.two, game); }
}

TEST_CASE("each kind of error travels with its number and its text", "[ERR-06]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  for (std::uint8_t number = 0; number < error_kind_count; ++number) {
    game.hooks.poke = [number](ActorContext&, SpotContext&,
                               const probe::Poke&) -> Task<Result<probe::Poked>> {
      co_return fail(Error(static_cast<ErrorKind>(number), "anna is not ready to be poked"));
    };
    check_error(game.two->request<probe::Poked>("anna", probe::Poke{}),
                static_cast<ErrorKind>(number), "anna is not ready to be poked");
  }
}

TEST_CASE("a remote handler sees what is left of the requester's time, waiting included",
          "[MSG-04]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  // Looked up, linked, and known how long the way is at best.
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}, 3s).has_value());
  CHECK(*game.hooks.time_left > 2900ms);
  CHECK(*game.hooks.time_left <= 3s);
  game.part();
  auto outcome = game.two->begin<Result<probe::Answer>>([](Context& context) {
    return context.actors().request<probe::Answer>("anna", probe::Ask{}).timeout(4s).submit();
  });
  game.run_for(1s);
  game.heal();
  REQUIRE(game.sim.world.run_until([&] { return outcome->has_value(); }, 10s) ==
          testing::SimOutcome::Done);
  REQUIRE((*outcome)->has_value());
  CHECK(*game.hooks.time_left > 2500ms);
  CHECK(*game.hooks.time_left <= 3010ms);
}

TEST_CASE("a request past its deadline is not handled, and a late reply is counted",
          "[MSG-03][MSG-10][DURABLE-02]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  Latch latch;
  hold_pokes(game, latch);
  const Instant begun = game.two->sim().clock().now();
  check_error(game.two->request<probe::Poked>("anna", probe::Poke{}, 1s),
              ErrorKind::DeadlineExceeded, "anna");
  CHECK(game.two->sim().clock().now() - begun < 1100ms);
  // Waits behind it past its own deadline, and is then not handled any more.
  check_error(game.two->request<probe::Poked>("anna", probe::Poke{}, 1s),
              ErrorKind::DeadlineExceeded);
  game.run_for(3s);
  latch.open();
  game.run_for(100ms);
  CHECK(game.two->metrics().late_replies.value() == 2);
  CHECK(game.two->metrics().requests_in_flight.value() == 0);
  CHECK(game.one->metrics().expired_requests.value() == 1);
  CHECK(game.pokes("anna") == 1);
}

TEST_CASE("a full mailbox of another node is Unavailable to a request and counted of a send",
          "[TURN-09]") {
  TwoNodes game(1, {.mailbox = {.application_jobs = 4}});
  game.one->born("anna", "pawn");
  Latch latch;
  hold_pokes(game, latch);
  auto busy = game.two->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
  });
  game.run_for(50ms);
  auto outcome = game.two->begin<int>([&](Context& context) -> Task<int> {
    for (int i = 0; i < 6; ++i) {
      CHECK(
          (co_await context.actors().send("anna", probe::Note{.text = "n"}).submit()).has_value());
    }
    check_error(co_await context.actors().request<probe::Answer>("anna", probe::Ask{}).submit(),
                ErrorKind::Unavailable, game.one->self().node.text);
    co_return 1;
  });
  game.run_for(100ms);
  latch.open();
  REQUIRE(game.sim.world.run_until([&] { return outcome->has_value(); }, 10s) ==
          testing::SimOutcome::Done);
  CHECK(game.journal().count("anna notes n") == 4);
  CHECK(game.one->metrics().refused_messages.value() == 2);
}

TEST_CASE("a lane to a node that does not answer takes so much, then sends are Unavailable",
          "[TURN-09][MSG-02]") {
  mesh::MeshOptions mesh;
  mesh.lanes[static_cast<std::size_t>(mesh::Lane::Messages)].messages = 8;
  TwoNodes game(1, {}, mesh);
  game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  game.run_for(100ms);
  game.part();
  const auto accepted = game.two->call<int>([](Context& context) -> Task<int> {
    int accepted = 0;
    for (int i = 0; i < 20; ++i) {
      auto sent = co_await context.actors().send("anna", probe::Note{.text = "n"}).submit();
      if (sent) {
        ++accepted;
      } else {
        check_error(sent, ErrorKind::Unavailable, "anna");
      }
    }
    co_return accepted;
  });
  CHECK(accepted == 8);
  game.heal();
  game.run_for(1s);
  CHECK(game.journal().count("anna notes n") == 8);
}

TEST_CASE("an owner that no longer has the id ends that call, and the next one looks it up anew",
          "[MSG-07][MSG-09]") {
  TwoNodes game;
  const ActorRef ref = game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  REQUIRE(game.one->destroy(ref).value());
  check_error(game.two->request<probe::Answer>("anna", probe::Ask{}), ErrorKind::Unavailable,
              "not on node " + game.one->self().node.text);
  check_error(game.two->request<probe::Answer>("anna", probe::Ask{}), ErrorKind::NotFound, "anna");
  game.two->born("anna", "pawn");
  REQUIRE(game.one->request<probe::Answer>("anna", probe::Ask{}).has_value());
  CHECK(game.one->metrics().stale_routes.value() == 1);

  // A one-way message learns it, too.
  REQUIRE(game.two->destroy(*game.two->find("anna")).value());
  REQUIRE(game.one->send("anna", probe::Note{.text = "lost"}).has_value());
  game.run_for(50ms);
  check_error(game.one->send("anna", probe::Note{.text = "lost"}), ErrorKind::NotFound, "anna");
  CHECK(game.journal().count("anna notes lost") == 0);
}

TEST_CASE("who is Ready under the id when a message comes handles it, of whatever incarnation",
          "[MSG-08]") {
  TwoNodes game;
  const ActorRef ref = game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  REQUIRE(game.one->destroy(ref).value());
  game.one->born("anna", "pawn");
  const auto reads = game.two->metrics().store_reads.value();
  CHECK(game.two->request<probe::Answer>("anna", probe::Ask{})->text == "anna asked 1");
  CHECK(game.two->metrics().store_reads.value() == reads);
}

TEST_CASE("a route is remembered, but not for long, and not a missing one", "[MSG-05][MSG-06]") {
  TwoNodes game;
  check_error(game.two->send("anna", probe::Note{}), ErrorKind::NotFound);
  game.one->born("anna", "pawn");
  REQUIRE(game.two->send("anna", probe::Note{}).has_value());
  const auto read = [&] { return game.two->metrics().store_reads.value(); };
  // The watch over the owner reads of its own accord, so nothing else may happen in between.
  const auto before = read();
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  REQUIRE(game.two->send("anna", probe::Note{}).has_value());
  CHECK(read() == before);
  // An owner admits work for 10 s after its last renewal.
  game.run_for(11s);
  const auto later = read();
  REQUIRE(game.two->send("anna", probe::Note{}).has_value());
  CHECK(read() > later);
}

TEST_CASE("a route that has been dropped is looked up anew", "[MSG-07]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  game.two->core().strand.post([&] { game.two->core().router->forget_routes(); });
  game.run_for(1ms);
  const auto before = game.two->metrics().store_reads.value();
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  CHECK(game.two->metrics().store_reads.value() > before);
}

TEST_CASE("the end of an owner's run ends every request under way at once", "[MESH-02]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  Latch latch;
  hold_pokes(game, latch);
  auto outcome = game.two->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  game.run_for(100ms);
  CHECK_FALSE(outcome->has_value());
  const mesh::Peer owner = game.one->self();
  game.one->crash();
  game.two->mesh().end(owner, Error::unavailable("its lease was fenced"));
  game.run_for(1ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::Unavailable, owner.node.text);
  check_error(game.two->request<probe::Answer>("anna", probe::Ask{}), ErrorKind::Unavailable);
}

TEST_CASE("a request that waits at a node which stops is Unavailable, for its own node goes on",
          "[MSG-03]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  Latch latch;
  hold_pokes(game, latch);
  std::vector<Result<probe::Answer>> outcomes;
  const auto done = game.two->begin<int>([&](Context& context) -> Task<int> {
    auto handled =
        context.actors().request<probe::Answer>("anna", probe::Poke{}).timeout(60s).submit();
    auto waiting =
        context.actors().request<probe::Answer>("anna", probe::Ask{}).timeout(60s).submit();
    outcomes.push_back(co_await std::move(handled));
    outcomes.push_back(co_await std::move(waiting));
    co_return 0;
  });
  game.run_for(100ms);
  game.one->stop(1s);
  game.run_for(100ms);
  REQUIRE(done->has_value());
  check_error(outcomes.at(0), ErrorKind::Unavailable);
  check_error(outcomes.at(1), ErrorKind::Unavailable, "is shutting down");
}

TEST_CASE("messages of one gate to one id keep their order while it is looked up and after",
          "[TURN-01][MSG-05]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  const auto outcome = game.two->begin<int>([](Context& context) -> Task<int> {
    for (int i = 0; i < 50; ++i) {
      (void)context.actors().send("anna", probe::Note{.text = std::to_string(i)}).submit();
      if (i % 7 == 6) {
        CHECK((co_await context.actors().request<probe::Answer>("anna", probe::Ask{}).submit())
                  .has_value());
      }
    }
    co_return 1;
  });
  REQUIRE(game.sim.world.run_until([&] { return outcome->has_value(); }, 10s) ==
          testing::SimOutcome::Done);
  game.run_for(1s);
  int next = 0;
  for (const std::string& line : game.journal().lines()) {
    if (!line.starts_with("anna notes ")) continue;
    CHECK(std::stoi(line.substr(11)) == next++);
  }
  CHECK(next == 50);
}

TEST_CASE("a connection that is cut loses and doubles no message", "[MESH-01][MSG-10]") {
  const auto seed = GENERATE(1U, 2U, 3U, 4U, 5U);
  TwoNodes game(seed);
  game.one->born("anna", "pawn");
  const auto outcome = game.two->begin<int>([&](Context& context) -> Task<int> {
    int answered = 0;
    for (int i = 0; i < 30; ++i) {
      (void)context.actors().send("anna", probe::Note{.text = std::to_string(i)}).submit();
      if (i % 3 == 0) game.sim.network.cut(game.one->sim(), game.two->sim());
      if ((co_await context.actors().request<probe::Poked>("anna", probe::Poke{}).submit())) {
        ++answered;
      }
    }
    co_return answered;
  });
  REQUIRE(game.sim.world.run_until([&] { return outcome->has_value(); }, 120s) ==
          testing::SimOutcome::Done);
  CHECK(**outcome == 30);
  CHECK(game.pokes("anna") == 30);
  int next = 0;
  for (const std::string& line : game.journal().lines()) {
    if (line.starts_with("anna notes ")) CHECK(std::stoi(line.substr(11)) == next++);
  }
  CHECK(next == 30);
}

TEST_CASE("two Actors that wait for each other end by deadline, with an error that names both",
          "[MSG-03]") {
  TwoNodes game;
  game.one->born("anna", "pawn");
  auto& other = GENERATE(true, false) ? *game.two : *game.one;
  other.born("berta", "pawn");
  std::vector<std::string> errors;
  std::array<Latch, 2> busy;  // opened when the other one's turn has begun
  game.hooks.poke = [&](ActorContext& context, SpotContext&,
                        const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    const std::string self = context.actor_id().text();
    if (poke.value == 0) co_return probe::Poked{};
    const std::size_t own = self == "anna" ? 0 : 1;
    busy[1 - own].open();
    co_await busy[own].wait();
    auto answer =
        co_await context.actors()
            .request<probe::Poked>(self == "anna" ? "berta" : "anna", probe::Poke{.value = 0})
            .timeout(std::chrono::seconds(poke.value))
            .submit();
    if (!answer) errors.push_back(to_string(answer.error()));
    co_return probe::Poked{};
  };
  auto first = game.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{.value = 1}).submit();
  });
  auto second = game.two->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("berta", probe::Poke{.value = 3}).submit();
  });
  REQUIRE(game.sim.world.run_until([&] { return first->has_value() && second->has_value(); },
                                   10s) == testing::SimOutcome::Done);
  REQUIRE(errors.size() == 1);
  INFO(errors[0]);
  CHECK(errors[0].find("DeadlineExceeded") == 0);
  CHECK(errors[0].find("Actor 'anna' and Actor 'berta' wait for each other") != std::string::npos);
}

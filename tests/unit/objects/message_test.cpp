// Sends and requests.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "objects/registry.hpp"
#include "objects/requests.hpp"
#include "objects/router.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

TEST_CASE("messages to an id without a living object end with the right kind", "[ERR-01]") {
  OneNode one;
  check_error(one->send("nobody", probe::Note{}), ErrorKind::NotFound, "Actor 'nobody'");
  check_error(one->request<probe::Answer>("nobody", probe::Ask{}), ErrorKind::NotFound, "nobody");
  check_error(one->send_to_spot("nowhere", probe::Note{}), ErrorKind::NotFound, "Spot 'nowhere'");
  check_error(one->send("", probe::Note{}), ErrorKind::InvalidOperation, "ActorId");
  one.sim.store.set_available(false);
  check_error(one->send("nobody", probe::Note{}), ErrorKind::Unavailable);
}

TEST_CASE("handlers are chosen by Spot, Actor class, kind and packet", "[TURN-11]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("rosa", "rook");
  one->room("red", "room");
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->text == "hall");
  CHECK(one->request<probe::Poked>("rosa", probe::Poke{})->text == "hall");  // a Rook is a Pawn
  CHECK(one->request<probe::Answer>("anna", probe::Ask{})->text == "anna asked 1");
  const std::string entry = one->spot_of("anna")->spot_id.text();
  CHECK(one->request_of_spot<probe::Answer>(entry, probe::Ask{})->text == "hall");
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->value == 1);
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->value == 2);
  CHECK(one->request_of_spot<probe::Poked>("red", probe::Poke{})->value == 2);
}

TEST_CASE("a missing handler and a payload that does not decode", "[ERR-04]") {
  OneNode one;
  one->born("anna", "pawn");
  check_error(one->request<probe::Answer>("anna", probe::Blob{}), ErrorKind::NotFound,
              "probe.Blob");
  CHECK(one->metrics().no_handler.value() == 1);
  CHECK(one->send("anna", probe::Blob{}).has_value());
  one.run_for(10ms);
  CHECK(one->metrics().no_handler.value() == 2);
  CHECK(one.sim.world.trace().text().find("probe.Blob") != std::string::npos);

  const Message damaged(PacketTraits<probe::Ask>::descriptor(), SharedBytes(Bytes(3)));
  check_error(one->call<Result<probe::Answer>>([&](Context& context) {
    return context.actors().request<probe::Answer>("anna", damaged).submit();
  }),
              ErrorKind::ProtocolError, "probe.Ask");
  const Message damaged_note(PacketTraits<probe::Note>::descriptor(), SharedBytes(Bytes(3)));
  CHECK(one->call<Result<void>>([&](Context& context) {
             return context.actors().send("anna", damaged_note).submit();
           })
            .has_value());
  one.run_for(10ms);
  CHECK(one->metrics().decode_failures.value() == 2);
  CHECK(one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("a handler that throws fails that request alone", "[ERR-05][MSG-02]") {
  OneNode one;
  one->born("anna", "pawn");
  one.hooks.poke = [](ActorContext&, SpotContext&,
                      const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 1) throw std::runtime_error("ouch");
    if (poke.value == 2) co_return fail(Error::rejected("not now"));
    co_return probe::Poked{.value = poke.value};
  };
  check_error(one->request<probe::Poked>("anna", probe::Poke{.value = 1}),
              ErrorKind::InternalFailure, "ouch");
  check_error(one->request<probe::Poked>("anna", probe::Poke{.value = 2}), ErrorKind::Rejected,
              "not now");
  CHECK(one->request<probe::Poked>("anna", probe::Poke{.value = 3})->value == 3);
  CHECK(one->metrics().handler_throws.value() == 1);
  CHECK(one->metrics().handler_errors.value() == 1);
}

TEST_CASE("a request ends at its deadline, once, and its late reply is counted",
          "[MSG-03][MSG-04]") {
  OneNode one;
  one->born("anna", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  const Instant begun = one->sim().clock().now();
  check_error(one->request<probe::Poked>("anna", probe::Poke{}, 1s), ErrorKind::DeadlineExceeded,
              "anna");
  CHECK(one->sim().clock().now() - begun >= 1s);
  CHECK(one->sim().clock().now() - begun < 1100ms);
  // Waits behind it past its own deadline, and is then not handled any more.
  check_error(one->request<probe::Poked>("anna", probe::Poke{}, 1s), ErrorKind::DeadlineExceeded);
  CHECK(one->metrics().requests_in_flight.value() == 0);
  latch.open();
  one.run_for(10ms);
  CHECK(one->metrics().late_replies.value() == 2);
  CHECK(one->metrics().expired_requests.value() == 1);
  CHECK(one.journal().count("hall pokes anna") == 1);
}

TEST_CASE("a handler sees what is left of the requester's time", "[MSG-04]") {
  OneNode one;
  one->born("anna", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one.sim.world.after(1s, [&] { latch.open(); });
  const bool is_answered = one->call<bool>([](Context& context) -> Task<bool> {
    auto busy = context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
    auto behind =
        co_await context.actors().request<probe::Answer>("anna", probe::Ask{}).timeout(3s).submit();
    co_return (co_await std::move(busy)).has_value() && behind.has_value();
  });
  CHECK(is_answered);
  REQUIRE(one.hooks.time_left.has_value());
  CHECK(*one.hooks.time_left > 1900ms);
  CHECK(*one.hooks.time_left <= 2001ms);
}

TEST_CASE("metadata arrives with its message, within bounds", "[MSG-12]") {
  OneNode one;
  one->born("anna", "pawn");
  const auto send = [&](std::size_t pairs, std::size_t bytes) {
    return one->call<Result<void>>([=](Context& context) {
      auto call = context.actors().send("anna", probe::Note{.text = "x"});
      for (std::size_t i = 0; i < pairs; ++i) call.metadata("k", std::string(bytes, 'v'));
      return call.submit();
    });
  };
  REQUIRE(send(2, 3).has_value());
  one.run_for(10ms);
  CHECK(one.journal().count("anna notes x k=vvv k=vvv") == 1);
  CHECK(send(16, 255).has_value());
  check_error(send(17, 1), ErrorKind::InvalidOperation, "metadata");
  check_error(send(1, 4096), ErrorKind::InvalidOperation, "metadata");
  for (const auto& [key, value] : {std::pair("\xff", "v"), std::pair("k", "\xff")}) {
    check_error(one->call<Result<void>>([=](Context& context) {
      return context.actors().send("anna", probe::Note{.text = "x"}).metadata(key, value).submit();
    }),
                ErrorKind::InvalidOperation, "UTF-8");
  }
}

TEST_CASE("a message to oneself that would be waited for is refused before it is sent",
          "[TURN-04]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  std::vector<ErrorKind> kinds;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 0) co_return probe::Poked{};
    auto self = co_await context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
    if (!self) kinds.push_back(self.error().kind());
    auto fellow = co_await context.actors().request<probe::Poked>("berta", probe::Poke{}).submit();
    if (!fellow) kinds.push_back(fellow.error().kind());
    auto spot = co_await context.spots().request<probe::Poked>("red", probe::Poke{}).submit();
    if (!spot) kinds.push_back(spot.error().kind());
    co_return probe::Poked{};
  };
  // In the hall only the Actor's own gate is in question.
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.value = 1}).has_value());
  CHECK(kinds == std::vector<ErrorKind>{ErrorKind::InvalidOperation});
  CHECK(one.journal().count("hall pokes berta") == 1);
  kinds.clear();
  // In the room all three share one.
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one->send("berta", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(one->request<probe::Poked>("berta", probe::Poke{}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.value = 1}).has_value());
  CHECK(kinds == std::vector<ErrorKind>(3, ErrorKind::InvalidOperation));
}

TEST_CASE("sends of one gate to one id keep their order while the id is looked up",
          "[TURN-01][MSG-05]") {
  OneNode one;
  TestNode two(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(two.start().has_value());
  const auto outcome = two.begin<int>([](Context& context) -> Task<int> {
    for (int i = 0; i < 20; ++i) {
      (void)context.actors().send("anna", probe::Note{.text = std::to_string(i)}).submit();
    }
    auto created = co_await context.actors().create("anna", "pawn").submit();
    CHECK(created.has_value());
    for (int i = 20; i < 40; ++i) {
      CHECK(
          (co_await context.actors().send("anna", probe::Note{.text = std::to_string(i)}).submit())
              .has_value());
    }
    co_return 1;
  });
  REQUIRE(one.sim.world.run_until([&] { return outcome->has_value(); }, 10s) ==
          testing::SimOutcome::Done);
  one.run_for(1s);
  // Missing was never remembered: all after the creation arrive, and none before is turned round.
  int last = -1;
  for (const std::string& line : one.journal().lines()) {
    if (!line.starts_with("anna notes ")) continue;
    const int number = std::stoi(line.substr(11));
    CHECK(number > last);
    last = number;
  }
  CHECK(last == 39);
  CHECK(one.journal().count("anna notes 20") == 1);
}

TEST_CASE("an object of another node is named with its node, and without a link Unavailable",
          "[CREATE-03]") {
  OneNode one;
  TestNode two(one.sim.world, one.sim.store, one.app, "two");
  REQUIRE(two.start().has_value());
  const ActorRef ref = one->born("anna", "pawn");
  CHECK(two.find("anna") == ref);
  // A node that has just started knows the owner alive once its beat has moved.
  const auto existing = two.call<Result<CreateResult>>([](Context& context) {
    return context.actors().get_or_create("anna", "pawn").timeout(10s).submit();
  });
  REQUIRE(existing.has_value());
  CHECK(std::get<Existing>(*existing).actor == ref);
  check_error(two.create("anna", "pawn"), ErrorKind::AlreadyExists, "anna");
  check_error(two.send("anna", probe::Note{}), ErrorKind::Unavailable, ref.node_rid.text);
  check_error(two.destroy(ref), ErrorKind::Unavailable, ref.node_rid.text);
  CHECK(one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("a full mailbox and too many requests are CapacityExceeded", "[TURN-09]") {
  OneNode one({}, 1, {.mailbox = {.application_jobs = 4}, .requests_in_flight = 8});
  one->born("anna", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
  });
  one.run_for(10ms);
  const auto sent = one->core().registry->find_actor("anna");
  int refused = 0;
  for (int i = 0; i < 6; ++i) {
    Envelope envelope{.id = "anna", .message = Message::of(probe::Note{})};
    auto delivered = one->core().router->deliver(*sent, envelope);
    if (!delivered) {
      CHECK(delivered.error().kind() == ErrorKind::CapacityExceeded);
      ++refused;
    }
  }
  CHECK(refused == 2);
  std::vector<runtime::Ref<PendingRequest>> open;
  for (int i = 0; i < 7; ++i) {
    open.push_back(*one->core().requests->open({.what = "request"}, one->sim().clock().now() + 1s));
  }
  check_error(one->core().requests->open({.what = "request"}, one->sim().clock().now() + 1s),
              ErrorKind::CapacityExceeded, "8 requests");
  latch.open();
  one.run_for(2s);
  CHECK(one->core().requests->open({.what = "request"}, one->sim().clock().now() + 1s).has_value());
}

TEST_CASE("outside a turn nothing is called", "[YIELD-03]") {
  OneNode one;
  one->born("anna", "pawn");
  (void)one->context().actors().send("anna", probe::Note{.text = "stray"}).submit();
  one.run_for(1s);
  CHECK(one.journal().count("anna notes stray") == 0);
}

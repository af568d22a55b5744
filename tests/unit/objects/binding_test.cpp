// Bindings as the objects see them.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

BindingIdentity identity(std::uint64_t session, std::uint64_t generation, std::uint64_t owner = 5) {
  return {SessionId{1, session}, LifecycleId{owner, owner}, NodeRid{"gate"}, generation};
}

Result<void> bind(OneNode& one, const ActorRef& ref, const BindingIdentity& binding) {
  std::optional<Result<void>> bound;
  one->bindings().bind(ref, binding, [&](Result<void> result) { bound = std::move(result); });
  one.run_for(1s);
  REQUIRE(bound.has_value());
  return *bound;
}

}  // namespace

TEST_CASE("a bound Actor pushes to its session, an unbound one is told",
          "[BIND-01][BIND-02][BIND-08]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  std::vector<std::string> results;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    BoundSession& session = context.bound_session();
    const auto sent =
        poke.value == 1 ? session.disconnect("bye") : session.send(probe::Note{.text = "hi"});
    results.push_back(sent ? "sent" : std::string(to_string(sent.error().kind())));
    co_return probe::Poked{.value = session.is_bound() ? 1 : 0};
  };
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->value == 0);
  CHECK(one->request<probe::Poked>("anna", probe::Poke{.value = 1})->value == 0);
  REQUIRE(bind(one, anna, identity(1, 1)).has_value());
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->value == 1);
  CHECK(one->sessions.pushes.back().first == SessionId{1, 1});
  // A new bind replaces the old at once.
  REQUIRE(bind(one, anna, identity(2, 2)).has_value());
  CHECK(one->sessions.replaced == std::vector<BindingIdentity>{identity(1, 1)});
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->value == 1);
  CHECK(one->sessions.pushes.back().first == SessionId{1, 2});
  CHECK(one->request<probe::Poked>("anna", probe::Poke{.value = 1})->value == 1);
  CHECK(one->sessions.disconnects.back().first == identity(2, 2));
  CHECK(results ==
        std::vector<std::string>{"InvalidOperation", "InvalidOperation", "sent", "sent", "sent"});
}

TEST_CASE("a bind names an incarnation that lives", "[ERR-02]") {
  OneNode one;
  const ActorRef first = one->born("anna", "pawn");
  REQUIRE(one->destroy(first) == true);
  check_error(bind(one, first, identity(1, 1)), ErrorKind::Unavailable, "anna");
  const ActorRef second = one->born("anna", "pawn");
  check_error(bind(one, first, identity(1, 1)), ErrorKind::InvalidOperation, "generation");
  CHECK(bind(one, second, identity(1, 1)).has_value());
}

TEST_CASE("bindings and membership do not touch each other", "[BIND-03][MSG-11][TURN-05]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  one->room("red", "room");
  REQUIRE(bind(one, anna, identity(1, 1)).has_value());
  one.journal().take();
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  CHECK(one->core().sessions == &one->sessions);
  CHECK(one.journal().count("on_joined_actor red anna") == 1);
  one.journal().take();
  // While a handler of the Actor waits, binding goes on.
  Latch latch;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{.value = context.bound_session().is_bound() ? 1 : 0};
  };
  const auto poked = one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  one.run_for(10ms);
  REQUIRE(bind(one, anna, identity(2, 2)).has_value());
  std::optional<Result<void>> unbound;
  one->bindings().unbind(*ActorId::parse("anna"), identity(2, 2),
                         [&](Result<void> result) { unbound = std::move(result); });
  one.run_for(100ms);
  CHECK(unbound.has_value());
  latch.open();
  one.run_for(100ms);
  CHECK((*poked)->value().value == 0);
  CHECK(one.journal().take() == std::vector<std::string>{"red pokes anna"});
  CHECK(one->spot_of("anna")->spot_id.text() == "red");
}

TEST_CASE("a connection that ends is told once, to the Spot where the Actor is",
          "[CB-09][BIND-05]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  one->room("red", "room");
  const ActorId id = *ActorId::parse("anna");
  REQUIRE(bind(one, anna, identity(1, 1)).has_value());
  one->bindings().session_ended(id, identity(1, 1));
  one->bindings().session_ended(id, identity(1, 1));
  one.run_for(1s);
  CHECK(one.journal().count("on_disconnect_actor hall anna") == 1);
  CHECK(one->find("anna") == anna);

  REQUIRE(bind(one, anna, identity(2, 2)).has_value());
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  REQUIRE(bind(one, anna, identity(3, 3)).has_value());
  // Late news of the replaced one.
  one->bindings().session_ended(id, identity(2, 2));
  one.run_for(1s);
  CHECK(one.journal().count("on_disconnect_actor red anna") == 0);
  CHECK(one->metrics().stale_refused.value() >= 1);
  one->bindings().session_ended(id, identity(3, 3));
  one.run_for(1s);
  CHECK(one.journal().count("on_disconnect_actor red anna") == 1);
}

TEST_CASE("a disconnect during a Join runs once, where the Actor ends up", "[CB-09]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  one->room("red", "room");
  REQUIRE(bind(one, anna, identity(1, 1)).has_value());
  Latch latch;
  one.hooks.on_joined = [&](SpotContext&, Actor&) -> Task<void> { co_await latch.wait(); };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  one->bindings().session_ended(*ActorId::parse("anna"), identity(1, 1));
  one.run_for(1s);
  CHECK(one.journal().count("on_disconnect_actor red anna") == 0);
  latch.open();
  one.run_for(1s);
  CHECK(one.journal().count("on_disconnect_actor red anna") == 1);
  CHECK(one.journal().count("on_disconnect_actor hall anna") == 0);
  CHECK(one->request<probe::Poked>("anna", probe::Poke{})->text == "red");
}

TEST_CASE("client packets pass the Actor's mailbox in order, without the store", "[BIND-06]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  const ActorId id = *ActorId::parse("anna");
  REQUIRE(bind(one, anna, identity(1, 1)).has_value());
  const auto reads = one->metrics().store_reads.value();
  for (int i = 0; i < 3; ++i) {
    CHECK(one->bindings()
              .relay(id, identity(1, 1), Message::of(probe::Note{.text = std::to_string(i)}), {},
                     nullptr)
              .has_value());
  }
  std::optional<Result<Message>> reply;
  CHECK(one->bindings()
            .relay(id, identity(1, 1), Message::of(probe::Ask{.value = 1}),
                   one->sim().clock().now() + 5s,
                   std::make_shared<FunctionReply>(
                       [&](Result<Message> result) { reply = std::move(result); }))
            .has_value());
  one.run_for(100ms);
  CHECK(one->metrics().store_reads.value() == reads);
  REQUIRE(reply.has_value());
  CHECK((*reply)->decode<probe::Answer>()->value == 2);
  const auto lines = one.journal().take();
  CHECK(std::vector<std::string>(lines.end() - 3, lines.end()) ==
        std::vector<std::string>{"anna notes 0", "anna notes 1", "anna notes 2"});
  for (const auto& stale : {identity(1, 2), identity(2, 1), identity(1, 1, 6)}) {
    check_error(one->bindings().relay(id, stale, Message::of(probe::Note{}), {}, nullptr),
                ErrorKind::InvalidOperation, "anna");
  }
  REQUIRE(one->destroy(anna) == true);
  check_error(one->bindings().relay(id, identity(1, 1), Message::of(probe::Note{}), {}, nullptr),
              ErrorKind::Unavailable, "anna");
}

TEST_CASE("a bind that is older than the present one of its owner is refused") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  REQUIRE(bind(one, anna, identity(2, 7)).has_value());
  check_error(bind(one, anna, identity(1, 6)), ErrorKind::InvalidOperation, "anew");
  CHECK(one->sessions.replaced.empty());
}

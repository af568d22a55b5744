// Sessions of one node that are bound to Actors of another.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "checks.hpp"
#include "objects/binding_bodies.hpp"
#include "objects/peer_port.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// Sessions are node `one`'s or `two`'s; the Actors are made by node `one`.
BindingIdentity identity(TestNode& gateway, std::uint64_t session, std::uint64_t generation) {
  const mesh::Peer node = gateway.self();
  return {SessionId{1, session}, node.lifecycle, node.node, generation};
}

std::shared_ptr<std::optional<Result<void>>> begin_bind(TestNode& gateway, const ActorRef& ref,
                                                        const BindingIdentity& binding) {
  auto bound = std::make_shared<std::optional<Result<void>>>();
  gateway.bindings().bind(ref, binding, [bound](Result<void> result) { *bound = result; });
  return bound;
}

Result<void> bind(TwoNodes& game, TestNode& gateway, const ActorRef& ref,
                  const BindingIdentity& binding) {
  const auto bound = begin_bind(gateway, ref, binding);
  game.run_for(500ms);
  REQUIRE(bound->has_value());
  return **bound;
}

Result<void> relay(TestNode& gateway, const BindingIdentity& binding, Message message) {
  return gateway.bindings().relay(*ActorId::parse("anna"), binding, std::move(message), {},
                                  nullptr);
}

Message note(int number) { return Message::of(probe::Note{.text = std::to_string(number)}); }

std::vector<std::string> notes_in(TwoNodes& game) {
  std::vector<std::string> notes;
  for (const std::string& line : game.journal().take()) {
    if (line.starts_with("anna notes ")) notes.push_back(line.substr(11));
  }
  return notes;
}

// What the Actor says to its session is said within `Poke`.
void speak_when_poked(TwoNodes& game) {
  game.hooks.poke = [](ActorContext& context, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    BoundSession& session = context.bound_session();
    const auto said = poke.text == "bye" ? session.disconnect("bye")
                                         : session.send(probe::Note{.text = poke.text});
    co_return probe::Poked{.value = session.is_bound() ? 1 : 0,
                           .text = said ? "said" : std::string(to_string(said.error().kind()))};
  };
}

std::string poke(TestNode& from, const std::string& text) {
  const auto poked = from.request<probe::Poked>("anna", probe::Poke{.text = text});
  REQUIRE(poked.has_value());
  return poked->text;
}

}  // namespace

TEST_CASE("an Actor pushes to a session of another node, which it may end", "[BIND-01][BIND-08]") {
  TwoNodes game;
  speak_when_poked(game);
  const ActorRef anna = game.one->born("anna", "pawn");
  CHECK(poke(*game.one, "hi") == "InvalidOperation");
  CHECK(poke(*game.one, "bye") == "InvalidOperation");
  const auto binding = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  CHECK(poke(*game.one, "hi") == "said");
  CHECK(poke(*game.one, "ho") == "said");
  CHECK(poke(*game.one, "bye") == "said");
  game.run_for(100ms);
  REQUIRE(game.two->sessions.pushes.size() == 2);
  CHECK(game.two->sessions.pushes[0].first == binding.session);
  CHECK(game.two->sessions.pushes[1].second.decode<probe::Note>()->text == "ho");
  REQUIRE(game.two->sessions.disconnects.size() == 1);
  CHECK(game.two->sessions.disconnects[0].first == binding);
  CHECK(game.two->sessions.disconnects[0].second == "bye");
  CHECK(game.one->sessions.pushes.empty());
}

TEST_CASE("a new bind replaces the old at once, wherever the old session lives",
          "[BIND-02][BIND-05]") {
  TwoNodes game;
  speak_when_poked(game);
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto far = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, far).has_value());
  const auto near = identity(*game.one, 2, 1);
  REQUIRE(bind(game, *game.one, anna, near).has_value());
  CHECK(game.two->sessions.replaced == std::vector<BindingIdentity>{far});
  // What the replaced session still says is refused, and its end touches nothing.
  check_error(relay(*game.two, far, note(1)), ErrorKind::Unavailable, "anna");
  game.two->bindings().session_ended(anna.actor_id, far);
  game.run_for(100ms);
  CHECK(game.journal().count("on_disconnect_actor hall anna") == 0);
  CHECK(poke(*game.one, "hi") == "said");
  CHECK(game.one->sessions.pushes.size() == 1);
  // And back again.
  const auto again = identity(*game.two, 3, 2);
  REQUIRE(bind(game, *game.two, anna, again).has_value());
  CHECK(game.one->sessions.replaced == std::vector<BindingIdentity>{near});
  // By the same session: nobody is replaced.
  const auto anew = identity(*game.two, 3, 3);
  REQUIRE(bind(game, *game.two, anna, anew).has_value());
  CHECK(game.two->sessions.replaced.size() == 1);
  CHECK(relay(*game.two, anew, note(2)).has_value());
  game.run_for(100ms);
  CHECK(notes_in(game) == std::vector<std::string>{"2"});
}

TEST_CASE("a bind of an Actor of another node names an incarnation that lives", "[ERR-02]") {
  TwoNodes game;
  const ActorRef first = game.one->born("anna", "pawn");
  REQUIRE(game.one->destroy(first) == true);
  check_error(bind(game, *game.two, first, identity(*game.two, 1, 1)), ErrorKind::Unavailable,
              "anna");
  const ActorRef second = game.one->born("anna", "pawn");
  check_error(bind(game, *game.two, first, identity(*game.two, 1, 2)), ErrorKind::InvalidOperation,
              "generation");
  CHECK(bind(game, *game.two, second, identity(*game.two, 1, 3)).has_value());
}

TEST_CASE("packets of a client reach an Actor of another node in order, without the store",
          "[BIND-06]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto binding = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  const auto reads =
      game.one->metrics().store_reads.value() + game.two->metrics().store_reads.value();
  game.journal().take();
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    // Of as many as may be on their way, the rest waits.
    while (!relay(*game.two, binding, note(i))) game.run_for(10ms);
    expected.push_back(std::to_string(i));
  }
  std::vector<std::string> replies;
  CHECK(game.two->bindings()
            .relay(anna.actor_id, binding, Message::of(probe::Ask{.value = 1}),
                   game.two->sim().clock().now() + 5s,
                   std::make_shared<FunctionReply>([&](Result<Message> reply) {
                     replies.push_back(std::to_string(reply->decode<probe::Answer>()->value));
                   }))
            .has_value());
  game.run_for(500ms);
  CHECK(notes_in(game) == expected);
  CHECK(replies == std::vector<std::string>{"2"});
  CHECK(game.one->metrics().store_reads.value() + game.two->metrics().store_reads.value() == reads);
}

TEST_CASE("a full mailbox of another node holds the session back, and nothing is lost",
          "[BIND-11]") {
  ObjectsConfig config;
  config.mailbox.application_jobs = 4;
  TwoNodes game(1, config);
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto binding = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  Latch work;
  game.hooks.poke = [&](ActorContext&, SpotContext&,
                        const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await work.wait();
    co_return probe::Poked{};
  };
  const auto poked = game.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  game.run_for(100ms);
  game.journal().take();
  int said = 0;
  const auto say_until_full = [&] {
    while (true) {
      const auto relayed = relay(*game.two, binding, note(said));
      if (!relayed) return relayed;
      ++said;
      game.run_for(1ms);
      REQUIRE(said < 1000);
    }
  };
  check_error(say_until_full(), ErrorKind::CapacityExceeded, "anna");
  game.run_for(1s);
  const int held = said;
  CHECK(notes_in(game).empty());
  check_error(relay(*game.two, binding, note(said)), ErrorKind::CapacityExceeded, "anna");
  work.open();
  game.run_for(1s);
  CHECK(relay(*game.two, binding, note(said++)).has_value());
  game.run_for(1s);
  std::vector<std::string> expected;
  for (int i = 0; i < said; ++i) expected.push_back(std::to_string(i));
  CHECK(held >= 4);
  CHECK(notes_in(game) == expected);
}

TEST_CASE("a client's request to an Actor of another node is answered once", "[BIND-09][BIND-07]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto binding = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  std::vector<std::string> answers;
  const auto ask = [&](const BindingIdentity& by) {
    const auto reply = std::make_shared<FunctionReply>([&](const Result<Message>& outcome) {
      answers.push_back(outcome ? "answered" : std::string(to_string(outcome.error().kind())));
    });
    auto relayed = game.two->bindings().relay(anna.actor_id, by, Message::of(probe::Ask{}),
                                              game.two->sim().clock().now() + 5s, reply);
    if (!relayed) reply->disarm();
    return relayed;
  };
  REQUIRE(ask(binding).has_value());
  REQUIRE(game.one->destroy(anna) == true);
  game.run_for(1s);
  CHECK(answers.size() == 1);
  CHECK(game.two->sessions.gone == std::vector<std::string>{"anna"});
  // Nothing leads there any more, and a run of the node that never was has no binding.
  CHECK_FALSE(ask(binding).has_value());
  auto other = binding;
  other.session_owner = LifecycleId{9, 9};
  CHECK_FALSE(ask(other).has_value());
  game.run_for(1s);
  CHECK(answers.size() == 1);
}

TEST_CASE("packets of a binding that is not the present one are refused where the Actor is",
          "[BIND-05][BIND-07]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto binding = identity(*game.two, 1, 5);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  game.journal().take();
  const auto before = game.one->metrics().stale_refused.value();
  const auto say = [&](const BindingIdentity& by, std::uint64_t sequence) {
    const auto body = session_packet(by, sequence, note(1), {}, game.two->sim().clock().now());
    REQUIRE(game.two->core()
                .peers
                ->send(game.one->self(), mesh::Lane::Messages,
                       peer_bytes(PeerKind::SessionSend, 0, &body))
                .has_value());
    game.run_for(100ms);
  };
  say(identity(*game.two, 1, 4), 1);
  say(identity(*game.two, 2, 5), 1);
  CHECK(game.one->metrics().stale_refused.value() == before + 2);
  // Nor one that has been there, or that leaves one out.
  say(binding, 1);
  say(binding, 1);
  say(binding, 3);
  CHECK(notes_in(game) == std::vector<std::string>{"1"});
  CHECK(game.one->metrics().unsound_peer_messages.value() == 2);
}

TEST_CASE("the end of a connection is told once to the Spot of an Actor of another node",
          "[CB-09][BIND-03]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto binding = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  CHECK(relay(*game.two, binding, note(1)).has_value());
  game.two->bindings().session_ended(anna.actor_id, binding);
  game.two->bindings().session_ended(anna.actor_id, binding);
  game.run_for(1s);
  CHECK(game.journal().count("on_disconnect_actor hall anna") == 1);
  CHECK(game.journal().count("anna notes 1") == 1);
  CHECK(game.two->find("anna") == anna);
  // Given up, it is not told.
  const auto next = identity(*game.two, 2, 2);
  REQUIRE(bind(game, *game.two, anna, next).has_value());
  std::optional<Result<void>> unbound;
  game.two->bindings().unbind(anna.actor_id, next, [&](Result<void> done) { unbound = done; });
  game.run_for(1s);
  REQUIRE(unbound.has_value());
  CHECK(unbound->has_value());
  CHECK(game.journal().count("on_disconnect_actor hall anna") == 1);
}

TEST_CASE("the death of a gateway is told once to the Spots of the Actors bound there", "[CB-09]") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  game.one->born("berta", "pawn");
  REQUIRE(bind(game, *game.two, anna, identity(*game.two, 1, 1)).has_value());
  game.one->mesh().end(game.two->self(), Error::unavailable("it was fenced"));
  game.run_for(1s);
  CHECK(game.journal().count("on_disconnect_actor hall anna") == 1);
  CHECK(game.journal().count("on_disconnect_actor hall berta") == 0);
  speak_when_poked(game);
  CHECK(poke(*game.one, "hi") == "InvalidOperation");
}

TEST_CASE("the death of an Actor's node ends the binding at the session") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  const auto binding = identity(*game.two, 1, 1);
  REQUIRE(bind(game, *game.two, anna, binding).has_value());
  std::vector<ErrorKind> answers;
  REQUIRE(game.two->bindings()
              .relay(anna.actor_id, binding, Message::of(probe::Ask{}),
                     game.two->sim().clock().now() + 60s,
                     std::make_shared<FunctionReply>([&](const Result<Message>& reply) {
                       answers.push_back(reply.error().kind());
                     }))
              .has_value());
  game.two->mesh().end(game.one->self(), Error::unavailable("it was fenced"));
  game.run_for(1s);
  CHECK(answers == std::vector<ErrorKind>{ErrorKind::Unavailable});
  CHECK(game.two->sessions.gone == std::vector<std::string>{"anna"});
  check_error(relay(*game.two, binding, note(1)), ErrorKind::Unavailable, "anna");
}

TEST_CASE("a bind that is not answered ends by its deadline, and is undone should it come yet") {
  TwoNodes game;
  const ActorRef anna = game.one->born("anna", "pawn");
  REQUIRE(game.two->request<probe::Answer>("anna", probe::Ask{}).has_value());
  game.part();
  const auto bound = begin_bind(*game.two, anna, identity(*game.two, 1, 1));
  game.run_for(5100ms);
  REQUIRE(bound->has_value());
  check_error(**bound, ErrorKind::DeadlineExceeded, "anna");
  game.heal();
  game.run_for(10s);
  speak_when_poked(game);
  CHECK(poke(*game.one, "hi") == "InvalidOperation");
  CHECK(game.journal().count("on_disconnect_actor hall anna") == 0);
}

TEST_CASE("a cut between two nodes doubles and loses nothing of a binding", "[BIND-06]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    TwoNodes game(seed);
    const ActorRef anna = game.one->born("anna", "pawn");
    const auto binding = identity(*game.two, 1, 1);
    REQUIRE(bind(game, *game.two, anna, binding).has_value());
    game.journal().take();
    std::vector<std::string> expected;
    for (int i = 0; i < 40; ++i) {
      if (i % 10 == 3) game.part();
      if (i % 10 == 7) game.heal();
      while (!relay(*game.two, binding, note(i))) game.run_for(10ms);
      expected.push_back(std::to_string(i));
      game.run_for(200ms);
    }
    game.two->bindings().session_ended(anna.actor_id, binding);
    game.run_for(20s);
    CHECK(game.journal().count("on_disconnect_actor hall anna") == 1);
    CHECK(notes_in(game) == expected);
  }
}

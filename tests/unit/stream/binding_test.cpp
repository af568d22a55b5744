#include "gateway_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

using Kind = DisconnectReason::Kind;

TEST_CASE("after bind a push of the Actor reaches its client", "[BIND-01]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  std::vector<int> numbers;
  client.on_push<chat::Notice>(
      [&](const chat::Notice& notice) { numbers.push_back(notice.number); });
  REQUIRE(gateway.push("player", chat::Notice{.number = 1}));
  REQUIRE(gateway.push("player", chat::Notice{.number = 2}));
  gateway.wait_for([&] { return numbers.size() == 2; });
  CHECK(numbers == std::vector<int>{1, 2});
  CHECK(gateway.script.living.at("ada")->context().bound_actors() ==
        std::vector<ActorRef>{gateway.bindings.ref_of("player")});
}

TEST_CASE("a session binds many Actors, and each one's push arrives", "[BIND-02]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"one", "two", "three"});
  for (const char* actor : {"one", "two", "three"}) REQUIRE(gateway.push(actor, chat::Notice{}));
  gateway.wait_for([&] { return client.pushes_received() == 3; });
}

TEST_CASE("the first push after a bind is accepted before the bind's own answer is here") {
  GatewayFixture gateway;
  gateway.bindings.add("player");
  gateway.bindings.set_latency(10ms);
  SimStreamClient client = gateway.connect("ada");
  bool is_answered = false;
  client.request<chat::Done>(chat::Bind{.actors = {"player"}},
                             [&](const Result<chat::Done>&) { is_answered = true; });
  gateway.wait_for([&] { return gateway.bindings.actor("player").binding.has_value(); });
  CHECK(gateway.push("player", chat::Notice{}));
  gateway.wait_for([&] { return client.pushes_received() == 1; });
}

TEST_CASE("a failing bind binds nothing and says why") {
  GatewayFixture gateway({.bound_actors = 2});
  SimStreamClient client = gateway.connect("ada");
  CHECK(gateway.ask<chat::Done>(client, chat::Bind{.actors = {"nobody"}}).error().kind() ==
        ErrorKind::Unavailable);
  for (const char* actor : {"a", "b", "c"}) gateway.bindings.add(actor);
  gateway.bindings.add("old", 7);
  CHECK(gateway.ask<chat::Done>(client, chat::Bind{.actors = {"old"}}).error().kind() ==
        ErrorKind::InvalidOperation);
  const auto third = gateway.ask<chat::Done>(client, chat::Bind{.actors = {"a", "b", "c"}});
  CHECK(third.error() ==
        Error::capacity_exceeded("Actor 'c' cannot be bound: a session binds at most 2 Actors"));
  CHECK(gateway.script.living.at("ada")->context().bound_actors().size() == 2);
  // Bound already: nothing to do.
  CHECK(gateway.ask<chat::Done>(client, chat::Bind{.actors = {"a"}}));
}

TEST_CASE("bind outside the session's own turns is InvalidOperation") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  SimStreamClient other = gateway.connect("bob");
  std::optional<Result<void>> outcome;
  gateway.script.on_say = [&](ChatSession&, const chat::Say&) -> Task<Result<void>> {
    outcome =
        co_await gateway.script.living.at("ada")->context().bind(gateway.bindings.ref_of("player"));
    co_return Result<void>();
  };
  other.send(chat::Say{});
  gateway.wait_for([&] { return outcome.has_value(); });
  CHECK(outcome->error().kind() == ErrorKind::InvalidOperation);
}

TEST_CASE("after unbind packets and pushes have nowhere to go, and no disconnect is told") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  REQUIRE(gateway.ask<chat::Done>(client, chat::Unbind{.actor = "player"}));
  CHECK(gateway.push("player", chat::Notice{}).error().kind() == ErrorKind::InvalidOperation);
  CHECK(gateway.ask<chat::Moved>(client, chat::Move{}).error().kind() == ErrorKind::NotFound);
  CHECK(gateway.ask<chat::Done>(client, chat::Unbind{.actor = "player"}).error().kind() ==
        ErrorKind::NotFound);
  client.reset();
  gateway.run_for(1s);
  CHECK(gateway.bindings.actor("player").disconnects == 0);
}

TEST_CASE("a packet without a session handler goes to the one bound Actor, in client order",
          "[BIND-06][BIND-13]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  std::vector<int> answers;
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) {
      client.send(chat::Move{.number = i});
    } else {
      client.request<chat::Moved>(chat::Move{.number = i}, [&](const Result<chat::Moved>& reply) {
        answers.push_back(reply->number);
      });
    }
  }
  auto& queue = gateway.bindings.actor("player").queue;
  gateway.wait_for([&] { return queue.size() == 20; });
  for (int i = 0; i < 20; ++i) {
    CHECK(queue[static_cast<std::size_t>(i)].message.decode<chat::Move>()->number == i);
    CHECK((queue[static_cast<std::size_t>(i)].reply != nullptr) == (i % 2 == 1));
    CHECK(queue[static_cast<std::size_t>(i)].deadline.has_value() == (i % 2 == 1));
  }
  // Replies come in any order, each once.
  for (int i = 19; i > 0; i -= 2) {
    queue[static_cast<std::size_t>(i)].reply(Message::of(chat::Moved{.number = i}));
  }
  gateway.wait_for([&] { return answers.size() == 10; });
  CHECK(answers == std::vector<int>{19, 17, 15, 13, 11, 9, 7, 5, 3, 1});
  CHECK(client.unanswered_requests() == 0);
}

TEST_CASE("a packet for the Actor does not overtake what the session has still to do",
          "[BIND-06]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  auto& queue = gateway.bindings.actor("player").queue;
  runtime::Ref<runtime::Completion<bool>> held;
  std::size_t relayed_before_it_ended = 1;
  gateway.script.on_say = [&](ChatSession&, const chat::Say&) -> Task<Result<void>> {
    held = runtime::make_completion<bool>();
    co_await held->wait();
    relayed_before_it_ended = queue.size();
    co_return Result<void>();
  };
  client.send(chat::Move{.number = 1});
  gateway.wait_for([&] { return queue.size() == 1; });
  client.send(chat::Say{.text = "hold"});
  gateway.wait_for([&] { return static_cast<bool>(held); });
  client.send(chat::Move{.number = 2});
  client.send(chat::Move{.number = 3});
  gateway.run_for(1s);
  CHECK(queue.size() == 1);
  held->complete(true);
  gateway.wait_for([&] { return queue.size() == 3; });
  CHECK(relayed_before_it_ended == 1);
  client.send(chat::Move{.number = 4});
  gateway.wait_for([&] { return queue.size() == 4; });
  for (int i = 0; i < 4; ++i) {
    CHECK(queue[static_cast<std::size_t>(i)].message.decode<chat::Move>()->number == i + 1);
  }
  CHECK(gateway.server->metrics().relayed.value() == 4);
}

TEST_CASE("with no bound Actor or several a request gets NotFound and a one-way packet is counted",
          "[BIND-13]") {
  GatewayFixture gateway;
  const std::vector<std::string> actors =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"one", "two"});
  SimStreamClient client = gateway.connect_bound("ada", actors);
  const auto answer = gateway.ask<chat::Moved>(client, chat::Move{});
  CHECK(answer.error().kind() == ErrorKind::NotFound);
  CHECK_THAT(answer.error().message(),
             Catch::Contains("'chat.Move'") &&
                 Catch::Contains(std::to_string(actors.size()) + " Actors are bound"));
  client.send(chat::Move{});
  gateway.wait_for([&] { return gateway.server->metrics().no_handler.value() == 2; });
  gateway.run_for(100ms);
  CHECK(gateway.times_seen("error: NotFound") == 2);
  CHECK(gateway.log.lines.size() == 1);
  for (const std::string& actor : actors) CHECK(gateway.bindings.actor(actor).queue.empty());
}

TEST_CASE("a request completes once; a reply for a session that has ended goes nowhere",
          "[BIND-09]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  int answers = 0;
  client.request<chat::Moved>(chat::Move{}, [&](const Result<chat::Moved>&) { ++answers; });
  auto& queue = gateway.bindings.actor("player").queue;
  gateway.wait_for([&] { return queue.size() == 1; });
  const auto replies_before = gateway.server->metrics().replies_out.value();
  SECTION("twice answered") {
    queue.front().reply(Message::of(chat::Moved{}));
    queue.front().reply(Message::of(chat::Moved{}));
    gateway.run_for(1s);
    CHECK(answers == 1);
    CHECK(gateway.server->metrics().replies_out.value() == replies_before + 1);
    CHECK(client.is_open());
  }
  SECTION("answered after the end") {
    client.reset();
    gateway.run_for(1s);
    queue.front().reply(Message::of(chat::Moved{}));
    CHECK(gateway.server->metrics().orphaned_replies.value() == 1);
    CHECK(answers == 1);  // by the end of its connection
    queue.clear();
    CHECK(gateway.server->session_count() == 0);
  }
}

TEST_CASE("disconnect tells every bound Actor once and unbinds it", "[BIND-03]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"one", "two"});
  std::vector<ActorRef> seen_at_the_end;
  gateway.script.on_disconnect = [&](ChatSession& session, const DisconnectReason&) -> Task<void> {
    seen_at_the_end = session.context().bound_actors();
    co_return;
  };
  client.reset();
  gateway.wait_for([&] { return gateway.server->session_count() == 0; });
  for (const char* actor : {"one", "two"}) {
    CHECK(gateway.bindings.actor(actor).disconnects == 1);
    CHECK_FALSE(gateway.bindings.actor(actor).binding);
  }
  CHECK(seen_at_the_end.size() == 2);
}

TEST_CASE("an Actor's disconnect closes the connection behind what it said, and unbinds",
          "[BIND-08]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  REQUIRE(gateway.push("player", chat::Notice{.text = "last words"}));
  gateway.bindings.disconnect("player", "cheating");
  gateway.wait_for_close(client);
  CHECK(client.pushes_received() == 1);
  CHECK(client.close_seen()->code == 4000);
  CHECK(client.close_seen()->reason == "cheating");
  gateway.run_for(1s);
  CHECK(gateway.bindings.actor("player").disconnects == 1);
  CHECK(gateway.has_seen("ada disconnected: cheating"));
}

TEST_CASE("the replaced session may still send a notice and is closed 100 ms after its callback",
          "[BIND-02][BIND-04]") {
  GatewayFixture gateway;
  gateway.script.on_replaced = [&](ChatSession& session) -> Task<void> {
    auto waited = runtime::make_completion<bool>();
    gateway.world.after(500ms, [waited] { waited->complete(true); });
    co_await waited->wait();
    CHECK(session.context().send(chat::Notice{.text = "you play elsewhere"}));
  };
  SimStreamClient old_client = gateway.connect_bound("old", {"player", "pet"});
  std::vector<std::string> notices;
  Instant closed_at{};
  Instant notice_at{};
  old_client.on_push<chat::Notice>([&](const chat::Notice& notice) {
    notices.push_back(notice.text);
    notice_at = gateway.world.now();
  });
  old_client.on_close([&](const ClientClose&) { closed_at = gateway.world.now(); });
  SimStreamClient new_client = gateway.connect_bound("new", {"player"});
  REQUIRE(gateway.push("player", chat::Notice{.text = "hello"}));
  gateway.wait_for([&] { return new_client.pushes_received() == 1; });
  CHECK(old_client.is_open());
  gateway.wait_for_close(old_client);
  CHECK(notices == std::vector<std::string>{"you play elsewhere"});
  CHECK(old_client.close_seen()->code == 4003);
  CHECK(old_client.close_seen()->reason == "Actor 'player' was taken over by another session");
  CHECK(closed_at - notice_at >= 90ms);
  CHECK(closed_at - notice_at <= 120ms);
  gateway.run_for(1s);
  CHECK(gateway.times_seen("old lost player") == 1);
  CHECK(gateway.times_seen("old disconnected") == 1);
  // Its other Actor is unbound like at any disconnect; the one taken over is not touched.
  CHECK(gateway.bindings.actor("pet").disconnects == 1);
  CHECK(gateway.bindings.actor("player").disconnects == 0);
  CHECK(gateway.bindings.actor("player").binding.has_value());
  CHECK(new_client.is_open());
}

TEST_CASE("what a replaced session says, its close and its timeout do not touch the new binding",
          "[BIND-05]") {
  GatewayFixture gateway;
  SimStreamClient old_client = gateway.connect_bound("old", {"player"});
  const auto old_binding = *gateway.bindings.actor("player").binding;
  old_client.vanish();
  SimStreamClient new_client = gateway.connect_bound("new", {"player"});
  gateway.run_for(120s);
  CHECK(gateway.times_seen("old disconnected") == 1);
  CHECK(gateway.bindings.actor("player").disconnects == 0);
  CHECK(gateway.push("player", chat::Notice{}));
  gateway.wait_for([&] { return new_client.pushes_received() == 1; });
  CHECK(gateway.server->push(old_binding, Message::of(chat::Notice{})).error().kind() ==
        ErrorKind::Unavailable);
  gateway.server->disconnect(old_binding, "stale");
  gateway.server->on_replaced(old_binding, gateway.bindings.ref_of("player"));
  gateway.run_for(1s);
  CHECK(new_client.is_open());
  CHECK(gateway.server->metrics().stale_bindings.value() == 3);
}

TEST_CASE("a session that takes its own Actor anew is not told that it lost it") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  const auto first = *gateway.bindings.actor("player").binding;
  REQUIRE(gateway.ask<chat::Done>(client, chat::Unbind{.actor = "player"}));
  REQUIRE(gateway.ask<chat::Done>(client, chat::Bind{.actors = {"player"}}));
  gateway.server->on_replaced(first, gateway.bindings.ref_of("player"));
  gateway.run_for(1s);
  CHECK(client.is_open());
  CHECK_FALSE(gateway.has_seen("lost"));
}

TEST_CASE("a session hears once that an Actor of its is gone, and may close with its own words") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player", "pet"});
  const auto pet = *gateway.bindings.actor("pet").binding;
  const auto player = *gateway.bindings.actor("player").binding;
  for (int i = 0; i < 2; ++i)
    gateway.server->on_actor_gone(pet, gateway.bindings.ref_of("pet").actor_id);
  gateway.run_for(1s);
  CHECK(gateway.times_seen("ada hears that pet is gone") == 1);
  CHECK(gateway.server->metrics().stale_bindings.value() == 1);
  // The connection and its other Actor stay.
  CHECK(client.is_open());
  CHECK(gateway.push("player", chat::Notice{}));
  gateway.wait_for([&] { return client.pushes_received() == 1; });

  gateway.script.on_actor_gone = [](ChatSession& session) -> Task<void> {
    session.context().close("come in again");
    co_return;
  };
  gateway.server->on_actor_gone(player, gateway.bindings.ref_of("player").actor_id);
  gateway.wait_for([&] { return !client.is_open(); });
  CHECK(client.close_seen()->code == 4000);
  CHECK(client.close_seen()->reason == "come in again");
}

TEST_CASE("a session that ends while it binds leaves no binding behind") {
  GatewayFixture gateway;
  gateway.bindings.add("player");
  gateway.bindings.set_latency(100ms);
  SimStreamClient client = gateway.connect("ada");
  client.request<chat::Done>(chat::Bind{.actors = {"player"}}, [](const Result<chat::Done>&) {});
  gateway.run_for(50ms);
  client.reset();
  gateway.run_for(1s);
  CHECK_FALSE(gateway.bindings.actor("player").binding);
  CHECK(gateway.server->session_count() == 0);
}

TEST_CASE("a destroyed Actor's binding is forgotten") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"one", "two"});
  gateway.bindings.destroy("one");
  CHECK(gateway.script.living.at("ada")->context().bound_actors() ==
        std::vector<ActorRef>{gateway.bindings.ref_of("two")});
  client.send(chat::Move{.number = 5});
  gateway.wait_for([&] { return gateway.bindings.actor("two").queue.size() == 1; });
}

TEST_CASE("a push that names another run of the node is refused", "[BIND-07]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  auto former = *gateway.bindings.actor("player").binding;
  former.session_owner = LifecycleId{1, 1};
  CHECK(gateway.server->push(former, Message::of(chat::Notice{})).error().kind() ==
        ErrorKind::Unavailable);
  gateway.server->disconnect(former, "stale");
  gateway.run_for(1s);
  CHECK(client.is_open());
  CHECK(client.pushes_received() == 0);
}

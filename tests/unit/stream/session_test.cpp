#include <algorithm>

#include "gateway_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

using Kind = DisconnectReason::Kind;

TEST_CASE("connect and disconnect callbacks run once each per connection", "[BIND-12]") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect("ada");
  CHECK(gateway.server->session_count() == 1);
  SECTION("when the client says good-bye") {
    client.close(1000, "bye");
    gateway.wait_for_close(client);
    CHECK(client.close_seen()->code == 1000);
    gateway.run_for(1s);
    CHECK(gateway.script.seen.back() == "ada disconnected: closed by the client with 1000: bye");
  }
  SECTION("when the connection breaks") {
    client.reset();
    gateway.run_for(1s);
    CHECK(gateway.script.seen.back() == "ada disconnected: connection reset");
  }
  SECTION("when the game closes it") {
    gateway.script.on_say = [](ChatSession& session, const chat::Say&) -> Task<Result<void>> {
      session.context().close("that is all");
      session.context().close("said twice");
      co_return Result<void>();
    };
    client.send(chat::Say{.text = "end it"});
    gateway.wait_for_close(client);
    CHECK(client.close_seen()->code == 4000);
    CHECK(client.close_seen()->reason == "that is all");
    gateway.run_for(1s);
    CHECK(gateway.script.seen.back() == "ada disconnected: that is all");
  }
  CHECK(gateway.times_seen("ada connected") == 1);
  CHECK(gateway.times_seen("ada disconnected") == 1);
  CHECK(gateway.server->session_count() == 0);
  CHECK(gateway.server->metrics().sessions.value() == 0);
  CHECK(gateway.links.open_links() == 0);
}

TEST_CASE("a client that is gone before its connect callback ran still gets both callbacks") {
  GatewayFixture gateway;
  auto client = spotmesh::testing::connect_stream_client(
      gateway.links, gateway.world.random("clients"), gateway.client_packets, "ada");
  client->reset();
  gateway.run_for(1s);
  CHECK(gateway.script.seen ==
        std::vector<std::string>{"ada connected", "ada disconnected: connection reset"});
}

TEST_CASE("a request to the session is answered with its seq") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  std::vector<std::string> texts;
  client.on_text([&](std::string_view text) { texts.emplace_back(text); });
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "hello"})->text == "hello");
  CHECK(texts == std::vector<std::string>{
                     R"({"reply_to":1,"packet":"chat.Echoed","payload":{"text":"hello"}})"});
}

TEST_CASE("what a turn says leaves as one batch, pushes in order and before the reply") {
  GatewayFixture gateway;
  gateway.script.on_echo = [](ChatSession& session,
                              const chat::Echo&) -> Task<Result<chat::Echoed>> {
    for (int i = 0; i < 3; ++i) {
      auto sent = session.context().send(chat::Notice{.number = i});
      if (!sent) co_return fail(sent.error());
    }
    co_return chat::Echoed{};
  };
  SimStreamClient client = gateway.connect();
  std::vector<std::string> texts;
  client.on_text([&](std::string_view text) { texts.emplace_back(text.substr(0, 42)); });
  REQUIRE(gateway.ask<chat::Echoed>(client, chat::Echo{}));
  REQUIRE(texts.size() == 4);
  CHECK(texts[0] == R"({"packet":"chat.Notice","payload":{"number)");
  CHECK(texts[3] == R"({"reply_to":1,"packet":"chat.Echoed","payl)");
}

TEST_CASE("errors and throws of a session's handlers reach the requester and end nothing") {
  GatewayFixture gateway;
  gateway.script.on_echo = [](ChatSession&,
                              const chat::Echo& packet) -> Task<Result<chat::Echoed>> {
    if (packet.text == "refuse") co_return fail(Error::rejected("not today"));
    if (packet.text == "throw") throw std::runtime_error("boom");
    co_return chat::Echoed{.text = packet.text};
  };
  SimStreamClient client = gateway.connect();
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "refuse"}).error() ==
        Error::rejected("not today"));
  const auto thrown = gateway.ask<chat::Echoed>(client, chat::Echo{.text = "throw"});
  CHECK(thrown.error() ==
        Error::internal_failure("the session's handler for packet 'chat.Echo' threw: boom"));
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "fine"})->text == "fine");
  CHECK_FALSE(gateway.has_seen("error"));
}

TEST_CASE("a failing one-way handler is told to on_error and logged once") {
  GatewayFixture gateway;
  gateway.script.on_say = [](ChatSession&, const chat::Say&) -> Task<Result<void>> {
    co_return fail(Error::rejected("too loud"));
  };
  SimStreamClient client = gateway.connect();
  for (int i = 0; i < 5; ++i) client.send(chat::Say{.text = "hey"});
  gateway.wait_for([&] { return gateway.times_seen("error: Rejected: too loud") == 5; });
  CHECK(gateway.log.lines.size() == 1);
  CHECK(gateway.server->metrics().handler_errors.value() == 5);
}

TEST_CASE("callbacks that throw are logged and counted, and the session goes on") {
  GatewayFixture gateway;
  gateway.script.on_connect = [](ChatSession&) -> Task<void> {
    throw std::runtime_error("bad start");
    co_return;
  };
  SimStreamClient client = gateway.connect();
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "still"})->text == "still");
  CHECK(gateway.log.lines ==
        std::vector<std::string>{"InternalFailure: on_connect threw: bad start"});
  CHECK(gateway.server->metrics().handler_throws.value() == 1);
}

TEST_CASE("a Session factory that throws closes its connection and no other") {
  GatewayFixture gateway;
  SimStreamClient lucky = gateway.connect("lucky");
  gateway.script.factory_throws = true;
  SimStreamClient unlucky = gateway.connect("unlucky");
  CHECK(unlucky.close_seen()->code == 1011);
  CHECK_FALSE(gateway.has_seen("unlucky"));
  CHECK(gateway.ask<chat::Echoed>(lucky, chat::Echo{.text = "x"}));
  gateway.run_for(10s);
  CHECK(gateway.server->session_count() == 1);
}

TEST_CASE("packets of one connection are handled in the order in which they were sent") {
  GatewayFixture gateway;
  gateway.script.on_say = [&](ChatSession& session, const chat::Say&) -> Task<Result<void>> {
    // A handler that waits for something outside holds the later ones back.
    auto waited = runtime::make_completion<bool>();
    gateway.world.after(3ms, [waited] { waited->complete(true); });
    co_await waited->wait();
    static_cast<void>(session);
    co_return Result<void>();
  };
  SimStreamClient client = gateway.connect("ada");
  std::vector<std::string> expected{"ada connected"};
  for (int i = 0; i < 50; ++i) {
    client.send(chat::Say{.text = std::to_string(i)});
    expected.push_back("ada says " + std::to_string(i));
  }
  gateway.wait_for([&] { return gateway.times_seen("says") == 50; });
  CHECK(gateway.script.seen == expected);
}

TEST_CASE("what a client sent before its good-bye is handled, in order, before the disconnect") {
  GatewayFixture gateway;
  gateway.script.on_say = [&](ChatSession&, const chat::Say&) -> Task<Result<void>> {
    auto waited = runtime::make_completion<bool>();
    gateway.world.after(10ms, [waited] { waited->complete(true); });
    co_await waited->wait();
    co_return Result<void>();
  };
  SimStreamClient client = gateway.connect("ada");
  for (const char* text : {"one", "two", "three"}) client.send(chat::Say{.text = text});
  client.close();
  gateway.wait_for([&] { return gateway.has_seen("disconnected"); });
  CHECK(gateway.script.seen ==
        std::vector<std::string>{"ada connected", "ada says one", "ada says two", "ada says three",
                                 "ada disconnected: closed by the client with 1000"});
}

TEST_CASE("what waits when the game closes a session is not handled any more") {
  GatewayFixture gateway;
  gateway.script.on_say = [](ChatSession& session, const chat::Say&) -> Task<Result<void>> {
    session.context().close("banned");
    co_return Result<void>();
  };
  SimStreamClient client = gateway.connect("ada");
  for (int i = 0; i < 5; ++i) client.send(chat::Say{.text = std::to_string(i)});
  gateway.wait_for_close(client);
  gateway.run_for(1s);
  CHECK(gateway.times_seen("says") == 1);
}

TEST_CASE("a push to an ended session is Unavailable, also in its disconnect callback") {
  GatewayFixture gateway;
  std::optional<Result<void>> pushed;
  gateway.script.on_disconnect = [&](ChatSession& session, const DisconnectReason&) -> Task<void> {
    pushed = session.context().send(chat::Notice{});
    co_return;
  };
  SimStreamClient client = gateway.connect();
  client.reset();
  gateway.wait_for([&] { return pushed.has_value(); });
  CHECK(pushed->error().kind() == ErrorKind::Unavailable);
}

TEST_CASE(
    "a request without an answer gets DeadlineExceeded once, and its late answer is dropped") {
  GatewayFixture gateway({.request_timeout = 2s});
  auto answer_now = runtime::make_completion<bool>();
  gateway.script.on_echo = [&](ChatSession&,
                               const chat::Echo& packet) -> Task<Result<chat::Echoed>> {
    if (packet.text == "slow") co_await answer_now->wait();
    co_return chat::Echoed{.text = packet.text};
  };
  SimStreamClient client = gateway.connect();
  const auto answer = gateway.ask<chat::Echoed>(client, chat::Echo{.text = "slow"});
  CHECK(answer.error() == Error::deadline_exceeded("the request had no answer for 2 s"));
  answer_now->complete(true);
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "fast"})->text == "fast");
  CHECK(gateway.server->metrics().late_replies.value() == 1);
  CHECK(client.is_open());
}

TEST_CASE("a request that waits behind others until its deadline is answered and never handled") {
  GatewayFixture gateway({.request_timeout = 2s});
  auto answer_now = runtime::make_completion<bool>();
  int echoes = 0;
  gateway.script.on_echo = [&](ChatSession&, const chat::Echo&) -> Task<Result<chat::Echoed>> {
    ++echoes;
    co_await answer_now->wait();
    co_return chat::Echoed{};
  };
  SimStreamClient client = gateway.connect();
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    client.request<chat::Echoed>(chat::Echo{}, [&](const Result<chat::Echoed>& reply) {
      if (!reply) ++refused;
    });
  }
  gateway.wait_for([&] { return refused == 3; });
  answer_now->complete(true);
  gateway.run_for(1s);
  CHECK(echoes == 1);
}

TEST_CASE("an answer that JSON cannot say is an InternalFailure of the request") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  std::optional<Result<chat::Moved>> answer;
  client.request<chat::Moved>(chat::Move{}, [&](Result<chat::Moved> reply) { answer = reply; });
  gateway.wait_for([&] { return !gateway.bindings.actor("player").queue.empty(); });
  gateway.bindings.actor("player").queue.front().reply(
      Message::of(chat::Ratio{.value = std::numeric_limits<float>::infinity()}));
  gateway.wait_for([&] { return answer.has_value(); });
  CHECK(answer->error().kind() == ErrorKind::InternalFailure);
}

TEST_CASE("a session handler for a packet that clients cannot send stops the start") {
  Application application;
  application.stream("gateway").session<ChatSession>([](SessionFactory<ChatSession>& factory) {
    factory.create_with([](SessionContext&) { return std::unique_ptr<ChatSession>(); });
  });
  const objects::FrozenApplication frozen(application);
  GatewayFixture gateway;
  const StreamSeams seams{.clock = gateway.node.clock(),
                          .scheduler = gateway.node.scheduler(),
                          .timers = gateway.node.timers(),
                          .strand = gateway.strand,
                          .random = gateway.node.random(),
                          .log = gateway.log,
                          .events = gateway.world.trace(),
                          .bindings = gateway.bindings};
  CHECK_THROWS_WITH(
      StreamServer(frozen, *frozen.streams().front(), gateway.objects->identity(), seams, {}),
      Catch::Contains("has a session handler for packet 'chat.Echo' at") &&
          Catch::Contains("Application::packets"));
}

TEST_CASE("one seed gives one run of a gateway, another seed another") {
  const auto trace_of = [](std::uint64_t seed) {
    GatewayFixture gateway({}, {}, seed);
    SimStreamClient ada = gateway.connect_bound("ada", {"a"});
    SimStreamClient bob = gateway.connect_bound("bob", {"b"});
    for (int i = 0; i < 20; ++i) {
      ada.send(chat::Say{.text = std::to_string(i)});
      bob.send(chat::Move{.number = i});
    }
    bob.reset();
    gateway.run_for(1s);
    return gateway.world.trace().hash();
  };
  CHECK(trace_of(5) == trace_of(5));
  CHECK(trace_of(5) != trace_of(6));
}

TEST_CASE("a walk over pages shows every session once, with what it is about") {
  GatewayFixture gateway;
  std::vector<SimStreamClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(gateway.connect("client " + std::to_string(i)));
  }
  clients.push_back(gateway.connect_bound("ada", {"player", "scout"}));
  const auto page_of = [&](const objects::PageWanted& wanted) {
    std::optional<objects::Page<SessionRow>> page;
    gateway.server->inspect(wanted, [&](auto given) { page = std::move(given); });
    REQUIRE_FALSE(page.has_value());
    gateway.wait_for([&] { return page.has_value(); });
    return *std::move(page);
  };
  std::map<SessionId, SessionRow> seen;
  objects::PageWanted wanted;
  wanted.limit = 4;
  for (bool is_last = false; !is_last;) {
    const auto page = page_of(wanted);
    CHECK(page.rows.size() <= 4);
    for (const SessionRow& row : page.rows) CHECK(seen.emplace(row.id, row).second);
    is_last = !page.next.has_value();
    if (!is_last) wanted.from = *page.next;
  }
  REQUIRE(seen.size() == 21);

  wanted = {};
  wanted.mesh = "play";
  const auto bound = page_of(wanted);
  REQUIRE(bound.rows.size() == 1);
  const SessionRow& ada = bound.rows[0];
  CHECK(ada.state == SessionState::Open);
  REQUIRE(ada.actors.size() == 2);
  CHECK(ada.actors[1].actor_id.text() == "scout");
  CHECK(ada.unanswered_requests == 0);
  CHECK(ada.queued_packets == 0);
  wanted = {};
  wanted.id = to_string(ada.id);
  CHECK(page_of(wanted).rows.at(0).remote_address == ada.remote_address);
  wanted.type = "another gateway";
  CHECK(page_of(wanted).rows.empty());
  CHECK(parse_session_id(to_string(ada.id)) == ada.id);
  CHECK_FALSE(parse_session_id("0123456789abcdef0123456789abcde").has_value());
  CHECK_FALSE(parse_session_id("0123456789abcdef0123456789abcdeX").has_value());
}

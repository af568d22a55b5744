// Sessions together with real Actors and Spots: one node, its gateway, clients that log in, join a
// room, lose their connection and come back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/spotmesh.hpp>
#include <spotmesh/testing/sim_stream_client.hpp>

#include "chat.packets.hpp"
#include "objects/objects_node.hpp"
#include "runtime/strand.hpp"
#include "stream/stream_server.hpp"
#include "testing/sim_client_links.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"
#include "testing/stream_client_end.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;
using spotmesh::testing::SimOutcome;
using spotmesh::testing::SimStreamClient;

namespace {

using Journal = std::vector<std::string>;

class Player final : public Actor {
 public:
  Player(ActorContext& context, Journal& journal) : Actor(context), journal_(journal) {}
  static void handlers(ActorHandlers<Player>& on) {
    on.request(&Player::move);
    on.send(&Player::moved);
    on.request(&Player::join);
  }
  std::string name() const { return context().actor_id().text(); }

  Result<chat::Moved> move(const chat::Move& move) {
    auto sent = context().bound_session().send(chat::Notice{.number = move.number});
    if (!sent) return fail(sent.error());
    return chat::Moved{.number = 2 * move.number};
  }
  Result<void> moved(const chat::Move& move) {
    if (move.number < 0) return context().bound_session().disconnect("negative");
    journal_.push_back(name() + " moved " + std::to_string(move.number));
    return {};
  }
  // The room is the text.
  Result<chat::Echoed> join(const chat::Echo& room) {
    auto deferred = context().join_spot(room.text).defer();
    if (!deferred) return fail(deferred.error());
    return chat::Echoed{};
  }
  Task<void> on_join_completed(const JoinCompletion& completion) override {
    const bool is_in = std::holds_alternative<JoinAccepted>(completion);
    journal_.push_back(name() + (is_in ? " is in" : " is not in"));
    co_return;
  }

 private:
  Journal& journal_;
};

class Lobby final : public EntrySpot<Player> {
 public:
  Lobby(SpotContext& context, Journal& journal) : EntrySpot(context), journal_(journal) {}
  Task<void> on_disconnect_actor(Player& player) override {
    journal_.push_back("lobby lost " + player.name());
    co_return;
  }

 private:
  Journal& journal_;
};

class Room final : public UserSpot<Player> {
 public:
  Room(SpotContext& context, Journal& journal) : UserSpot(context), journal_(journal) {}
  static void handlers(Handlers<Room>& on) { on.send(&Room::shout); }
  Result<void> shout(Player& player, const chat::Move& move) {
    journal_.push_back(player.name() + " shouts " + std::to_string(move.number));
    return context().broadcast(chat::Notice{.number = move.number, .text = player.name()});
  }
  Task<void> on_disconnect_actor(Player& player) override {
    journal_.push_back("room lost " + player.name());
    co_return;
  }

 private:
  Journal& journal_;
};

class GameSession final : public Session {
 public:
  GameSession(SessionContext& context, Journal& journal) : Session(context), journal_(journal) {}
  static void handlers(SessionHandlers<GameSession>& on) {
    on.request(&GameSession::log_in);
    on.request(&GameSession::log_out);
    on.request(&GameSession::move_of);
    on.send(&GameSession::open_room);
  }
  Task<Result<chat::Done>> log_in(const chat::Bind& packet) {
    for (const std::string& id : packet.actors) {
      auto made = co_await context().actors().get_or_create(id, "player").submit();
      if (!made) co_return fail(made.error());
      const auto found = co_await context().actors().find(id);
      if (!found) co_return fail(found.error());
      auto bound = co_await context().bind(**found);
      if (!bound) co_return fail(bound.error());
    }
    co_return chat::Done{};
  }
  Task<Result<chat::Done>> log_out(const chat::Unbind& packet) {
    const auto found = co_await context().actors().find(packet.actor);
    if (!found) co_return fail(found.error());
    auto ended = co_await context().actors().destroy(**found);
    if (!ended) co_return fail(ended.error());
    co_return chat::Done{};
  }
  Task<Result<chat::Moved>> move_of(const chat::MoveOf& packet) {
    return context()
        .actors()
        .request<chat::Moved>(packet.actor, chat::Move{.number = packet.number})
        .submit();
  }
  Task<Result<void>> open_room(const chat::Say& packet) {
    auto made = co_await context().spots().get_or_create(packet.text, "room").submit();
    if (!made) co_return fail(made.error());
    co_return Result<void>();
  }
  Task<void> on_replaced(const ActorRef& actor) override {
    journal_.push_back("session lost " + actor.actor_id.text());
    co_return;
  }

 private:
  Journal& journal_;
};

void configure(Application& app, Journal& journal) {
  app.packets(chat::packets());
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Lobby>([&](auto& f) {
    f.create_with([&](SpotContext& context) { return std::make_unique<Lobby>(context, journal); });
  });
  play.actor<Player>("player", [&](auto& f) {
    f.disable_relocation().create_with(
        [&](ActorContext& context) { return std::make_unique<Player>(context, journal); });
  });
  play.user_spot<Room>("room", [&](auto& f) {
    f.disable_relocation().create_with(
        [&](SpotContext& context) { return std::make_unique<Room>(context, journal); });
  });
  app.stream("gateway").session<GameSession>([&](SessionFactory<GameSession>& f) {
    f.create_with(
        [&](SessionContext& context) { return std::make_unique<GameSession>(context, journal); });
  });
}

class Game {
 public:
  Game()
      : node(world.add_node("node-1")),
        store(world, world.random("store")),
        store_client(store.connect("node-1")),
        links(world, world.random("links")),
        strand(node.scheduler()) {
    configure(application, journal);
    frozen.emplace(application);
    objects.emplace(*frozen, objects::new_identity("node", node.random()), objects::ObjectsConfig{},
                    seams());
    server.emplace(
        *frozen, *frozen->streams().front(), objects->identity(),
        stream::StreamSeams{.clock = node.clock(),
                            .scheduler = node.scheduler(),
                            .timers = node.timers(),
                            .strand = strand,
                            .random = node.random(),
                            .log = node.log(),
                            .events = node.events(),
                            .bindings = objects->bindings(),
                            .observer = &node.observer()},
        [this](const SessionId& session) { return objects->new_session_caller(session); });
    objects->set_sessions(*server);
    std::optional<Result<void>> started;
    objects->start([&](Result<void> result) { started = std::move(result); });
    wait_for([&] { return started.has_value(); });
    REQUIRE(*started);
    REQUIRE(links.listen({}, *server));
  }
  ~Game() {
    bool is_stopped = false;
    server->stop("over", [&] {
      strand.post([&] { objects->stop(node.clock().now() + 5s, [&] { is_stopped = true; }); });
    });
    wait_for([&] { return is_stopped; });
    CHECK(server->session_count() == 0);
    CHECK(world.violations().empty());
  }

  objects::Seams seams() {
    return {.clock = node.clock(),
            .scheduler = node.scheduler(),
            .timers = node.timers(),
            .workers = node.workers(),
            .store = *store_client,
            .random = node.random(),
            .log = node.log(),
            .events = node.events(),
            .observer = &node.observer()};
  }
  void wait_for(const std::function<bool()>& is_done) {
    const SimOutcome outcome = world.run_until(is_done, 60s);
    INFO(world.trace().text());
    REQUIRE(outcome == SimOutcome::Done);
  }
  void run_for(Duration span) { REQUIRE(world.run_for(span) == SimOutcome::Done); }
  SimStreamClient connect() {
    auto client =
        testing::connect_stream_client(links, world.random("clients"), client_packets, "client");
    REQUIRE(client);
    return *std::move(client);
  }
  template <Packet Reply, Packet P>
  Result<Reply> ask(SimStreamClient& client, const P& packet) {
    std::optional<Result<Reply>> answer;
    client.request<Reply>(packet, [&](Result<Reply> reply) { answer.emplace(std::move(reply)); });
    wait_for([&] { return answer.has_value(); });
    return *std::move(answer);
  }
  SimStreamClient log_in(const std::string& name) {
    SimStreamClient client = connect();
    REQUIRE(ask<chat::Done>(client, chat::Bind{.actors = {name}}));
    return client;
  }
  // … and enters the room.
  SimStreamClient play(const std::string& name) {
    SimStreamClient client = log_in(name);
    client.send(chat::Say{.text = "room-1"});
    REQUIRE(ask<chat::Echoed>(client, chat::Echo{.text = "room-1"}));
    wait_for([&] { return saw(name + " is in"); });
    return client;
  }
  bool saw(const std::string& what) const { return std::ranges::count(journal, what) > 0; }

  Journal journal;
  testing::SimWorld world;
  testing::SimNode& node;
  testing::SimStore store;
  std::unique_ptr<testing::SimStore::Client> store_client;
  testing::SimClientLinks links;
  Application application;
  runtime::Strand strand;
  std::optional<objects::FrozenApplication> frozen;
  std::optional<objects::ObjectsNode> objects;
  std::optional<stream::StreamServer> server;
  std::shared_ptr<wire::PacketCatalog> client_packets = std::make_shared<wire::PacketCatalog>();
};

}  // namespace

TEST_CASE("a client logs in, its packets reach its Actor, and the Actor's pushes reach it",
          "[BIND-01][BIND-06][BIND-13]") {
  Game game;
  SimStreamClient client = game.log_in("ada");
  const auto reads_before = game.objects->metrics().store_reads.value();
  std::vector<std::string> heard;
  client.on_push<chat::Notice>([&](const chat::Notice& notice) {
    heard.push_back("push " + std::to_string(notice.number));
  });
  std::vector<int> replies;
  for (int i = 1; i <= 10; ++i) {
    client.send(chat::Move{.number = i});
    client.request<chat::Moved>(chat::Move{.number = 100 + i},
                                [&](const Result<chat::Moved>& reply) {
                                  heard.push_back("reply " + std::to_string(reply->number));
                                });
  }
  game.wait_for([&] { return heard.size() == 20; });
  Journal expected;
  for (int i = 1; i <= 10; ++i) {
    expected.push_back("ada moved " + std::to_string(i));
    CHECK(heard[static_cast<std::size_t>(2 * i - 2)] == "push " + std::to_string(100 + i));
    CHECK(heard[static_cast<std::size_t>(2 * i - 1)] == "reply " + std::to_string(200 + 2 * i));
  }
  CHECK(game.journal == expected);
  CHECK(game.objects->metrics().store_reads.value() == reads_before);
}

TEST_CASE("an Actor without a session works, and its push says that nobody is bound",
          "[BIND-03][BIND-08]") {
  Game game;
  SimStreamClient ada = game.log_in("ada");
  SimStreamClient bob = game.log_in("bob");
  CHECK(game.ask<chat::Moved>(bob, chat::MoveOf{.actor = "ada", .number = 3})->number == 6);
  game.wait_for([&] { return ada.pushes_received() == 1; });
  ada.close();
  game.wait_for([&] { return game.saw("lobby lost ada"); });
  const auto answer = game.ask<chat::Moved>(bob, chat::MoveOf{.actor = "ada", .number = 3});
  CHECK(answer.error().kind() == ErrorKind::InvalidOperation);
  CHECK(bob.pushes_received() == 0);
}

TEST_CASE("a Join changes no binding; the end of a connection changes no membership", "[BIND-03]") {
  Game game;
  SimStreamClient ada = game.play("ada");
  SimStreamClient bob = game.play("bob");
  ada.send(chat::Move{.number = 5});
  game.wait_for([&] { return ada.pushes_received() == 1 && bob.pushes_received() == 1; });
  ada.reset();
  game.wait_for([&] { return game.saw("room lost ada"); });
  CHECK_FALSE(game.saw("lobby lost ada"));

  // Back, in the room still.
  SimStreamClient again = game.log_in("ada");
  again.send(chat::Move{.number = 6});
  game.wait_for([&] { return again.pushes_received() == 1 && bob.pushes_received() == 2; });
  CHECK(game.saw("ada shouts 6"));
  CHECK(std::ranges::count(game.journal, "room lost ada") == 1);
}

TEST_CASE("a broadcast is encoded once and reaches every member with a session") {
  Game game;
  std::vector<SimStreamClient> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(game.play("p" + std::to_string(i)));
  clients[3].send(chat::Move{.number = 9});
  game.wait_for([&] {
    return std::ranges::all_of(clients,
                               [](const auto& each) { return each.pushes_received() == 1; });
  });
  CHECK(game.server->metrics().pushes_out.value() == 8);
  CHECK(game.server->metrics().pushes_encoded.value() == 1);
}

TEST_CASE("a login elsewhere replaces the session; the Actor hears of no disconnect",
          "[BIND-02][BIND-04][BIND-05]") {
  Game game;
  SimStreamClient first = game.play("ada");
  SimStreamClient second = game.log_in("ada");
  game.wait_for([&] { return !first.is_open(); });
  CHECK(first.close_seen()->code == 4003);
  CHECK(game.saw("session lost ada"));
  second.send(chat::Move{.number = 3});
  game.wait_for([&] { return second.pushes_received() == 1; });
  game.run_for(60s);
  CHECK_FALSE(game.saw("room lost ada"));
}

TEST_CASE("an Actor's disconnect closes its client's connection and unbinds", "[BIND-08]") {
  Game game;
  SimStreamClient client = game.log_in("ada");
  client.send(chat::Move{.number = -1});
  game.wait_for([&] { return !client.is_open(); });
  CHECK(client.close_seen()->code == 4000);
  CHECK(client.close_seen()->reason == "negative");
  game.wait_for([&] { return game.saw("lobby lost ada"); });
}

TEST_CASE("a destroyed Actor is forgotten by its session, whose packets then go nowhere") {
  Game game;
  SimStreamClient client = game.log_in("ada");
  REQUIRE(game.ask<chat::Done>(client, chat::Unbind{.actor = "ada"}));
  CHECK(game.ask<chat::Moved>(client, chat::Move{}).error().kind() == ErrorKind::NotFound);
  REQUIRE(game.ask<chat::Done>(client, chat::Bind{.actors = {"ada"}}));
  CHECK(game.ask<chat::Moved>(client, chat::Move{.number = 4})->number == 8);
}

TEST_CASE("a flood for one Actor loses and reorders nothing on its way to the handler",
          "[BIND-06][BIND-11]") {
  Game game;
  SimStreamClient client = game.log_in("ada");
  constexpr int count = 5000;
  Journal expected;
  for (int i = 0; i < count; ++i) {
    client.send(chat::Move{.number = i});
    expected.push_back("ada moved " + std::to_string(i));
  }
  game.wait_for([&] { return game.journal.size() == count; });
  CHECK(game.journal == expected);
}

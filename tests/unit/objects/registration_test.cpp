#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include <spotmesh/spotmesh.hpp>

#include "objects/frozen_application.hpp"
#include "probe.packets.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;
using registration::MessageKind;
using registration::Receiver;

namespace {

struct Pawn : Actor {
  using Actor::Actor;
  static void handlers(ActorHandlers<Pawn>& on) {
    on.request(&Pawn::ask);
    on.send(&Pawn::note);
    on.timer("save", 30s, &Pawn::save);
  }
  probe::Answer ask(const probe::Ask&) { return {}; }
  void note(const probe::Note&, const MessageContext&) {}
  void save() {}
};
struct Queen : Pawn {
  using Pawn::Pawn;
  static void handlers(ActorHandlers<Queen>& on) { on.request(&Queen::ask); }
};

struct Lobby : EntrySpot<Pawn> {
  using EntrySpot::EntrySpot;
  static void handlers(Handlers<Lobby>& on) {
    on.send(&Lobby::poke);
    on.request(&Lobby::poke_with_reply);
    on.request(&Lobby::describe);
  }
  Task<void> poke(Pawn&, const probe::Poke&) const { co_return; }
  Result<probe::Poked> poke_with_reply(Pawn&, const probe::Poke&) const { return probe::Poked{}; }
  probe::Answer describe(const probe::Ask&) { return {}; }
};
struct Room : UserSpot<Pawn> {
  using UserSpot::UserSpot;
};
struct SizedRoom : UserSpot<Pawn> {
  SizedRoom(SpotContext& context, int) : UserSpot(context) {}
};
struct SizedPawn : Pawn {
  SizedPawn(ActorContext& context, int) : Pawn(context) {}
};
struct Visitor : Session {
  using Session::Session;
};

ObjectServer& server_of(Application& app) {
  auto& server = app.mesh("play").object_server();
  server.entry_spot<Lobby>();
  return server;
}

const auto stays = [](auto& f) { f.disable_relocation(); };

// The text of the ConfigurationError that `act` throws.
std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  FAIL("nothing was refused");
  return {};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a stable type registered twice names both places", "[REG-01]") {
  Application app;
  auto& server = server_of(app);
  server.actor<Pawn>("pawn", stays);
  const std::string actors = refusal([&] { server.actor<Queen>("pawn", stays); });
  CHECK(has(actors, "'pawn'"));
  CHECK(count_of(actors, "registration_test.cpp:") == 2);

  server.user_spot<Room>("room", stays);
  const std::string spots = refusal([&] { server.user_spot<Room>("room", stays); });
  CHECK(has(spots, "'room'"));
  CHECK(count_of(spots, "registration_test.cpp:") == 2);
}

TEST_CASE("exactly one relocation policy is chosen", "[REG-02]") {
  Application none;
  server_of(none).actor<Pawn>("pawn", [](auto&) {});
  CHECK(has(refusal([&] { objects::FrozenApplication frozen(none); }), "no relocation policy"));

  Application two;
  CHECK(has(refusal([&] {
              server_of(two).actor<Pawn>("pawn", [](auto& f) {
                f.disable_relocation();
                f.recreate_on_relocation();
              });
            }),
            "twice"));

  Application spot;
  server_of(spot).user_spot<Room>("room", [](auto&) {});
  CHECK(has(refusal([&] { objects::FrozenApplication frozen(spot); }), "no relocation policy"));
}

TEST_CASE("an object server with Actor types needs an Entry Spot", "[REG-02]") {
  Application app;
  app.mesh("play").object_server().actor<Pawn>("pawn", stays);
  CHECK(has(refusal([&] { objects::FrozenApplication frozen(app); }), "Entry Spot"));
}

TEST_CASE("one packet has one handler of a kind, and send and request may coexist", "[REG-05]") {
  struct Twice : Pawn {
    using Pawn::Pawn;
    static void handlers(ActorHandlers<Twice>& on) {
      on.request(&Twice::ask);
      on.request(&Twice::ask_again);
    }
    probe::Answer ask_again(const probe::Ask&) { return {}; }
  };
  Application app;
  const std::string twice = refusal([&] { server_of(app).actor<Twice>("twice", stays); });
  CHECK(has(twice, "probe.Ask"));
  CHECK(count_of(twice, "registration_test.cpp:") == 2);

  registration::HandlerList list;
  Handlers<Lobby> on(list);
  Lobby::handlers(on);
  const objects::HandlerTable table(list);
  const PacketId poke = PacketTraits<probe::Poke>::descriptor().id;
  const PacketId ask = PacketTraits<probe::Ask>::descriptor().id;
  CHECK(table.find(Receiver::Spot, MessageKind::Request, ask) != nullptr);
  CHECK(table.find(Receiver::Spot, MessageKind::Send, ask) == nullptr);
  CHECK(table.find(Receiver::Actor, MessageKind::Request, poke) !=
        table.find(Receiver::Actor, MessageKind::Send, poke));
}

TEST_CASE("a class without the usual constructor needs a factory function", "[REG-03]") {
  Application missing;
  server_of(missing).user_spot<SizedRoom>("room", stays);
  CHECK(has(refusal([&] { objects::FrozenApplication frozen(missing); }), "create_with"));

  Application given;
  server_of(given).user_spot<SizedRoom>("room", [](auto& f) {
    f.disable_relocation().create_with(
        [](SpotContext& context) { return std::make_unique<SizedRoom>(context, 3); });
  });
  const objects::FrozenApplication frozen(given);
  CHECK(frozen.find_mesh("play")->find_spot("room") != nullptr);
}

TEST_CASE("an Actor class without the usual constructor needs a factory function too", "[REG-03]") {
  Application missing;
  server_of(missing).actor<SizedPawn>("pawn", stays);
  CHECK(has(refusal([&] { objects::FrozenApplication frozen(missing); }), "create_with"));

  Application given;
  server_of(given).actor<SizedPawn>("pawn", [](auto& f) {
    f.disable_relocation().create_with(
        [](ActorContext& context) { return std::make_unique<SizedPawn>(context, 3); });
  });
  const objects::FrozenApplication frozen(given);
  CHECK(frozen.find_mesh("play")->find_actor("pawn") != nullptr);
}

TEST_CASE("meshes, gateways and numbers that cannot be meant are refused", "[PLACE-03]") {
  Application app;
  CHECK(has(refusal([&] { app.mesh("no good"); }), "no good"));
  CHECK(has(refusal([&] { server_of(app).placement_weight(10'001); }), "10001"));
  CHECK(has(refusal([&] { app.mesh("play").object_server().pending_limit(0); }), "pending_limit"));
  app.stream("gateway");
  CHECK(has(refusal([&] { objects::FrozenApplication frozen(app); }), "gateway"));
  app.stream("gateway").session<Visitor>();
  CHECK(has(refusal([&] { app.stream("gateway").session<Visitor>(); }), "two Session"));
  const objects::FrozenApplication frozen(app);
  CHECK(frozen.streams().size() == 1);
  CHECK(frozen.find_mesh("play")->has_object_role());
  CHECK(frozen.find_mesh("play")->server->placement_weight == 100);
  CHECK(frozen.find_mesh("elsewhere") == nullptr);
}

namespace {

struct Subscriber : UserSpot<Pawn> {
  using UserSpot::UserSpot;
  void win(const probe::Note&) {}
  Task<Result<void>> win_later(const probe::Note&, const MessageContext&) { co_return {}; }
  void number(const probe::Ask&) {}
};

std::string refusal_of(const std::function<void(Handlers<Subscriber>&)>& registrations) {
  registration::HandlerList list;
  Handlers<Subscriber> on(list);
  try {
    registrations(on);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a subscription is one handler per channel, topic and packet", "[REG-05]") {
  registration::HandlerList list;
  Handlers<Subscriber> on(list);
  on.subscribe("news", "win", &Subscriber::win);
  on.subscribe("news", "win", &Subscriber::number);
  on.subscribe("news", "loss", &Subscriber::win_later);
  on.subscribe("olds", "win", &Subscriber::win);
  on.send(&Subscriber::win);
  const objects::HandlerTable table(list);
  CHECK(table.topics().size() == 3);
  const PacketId note = PacketTraits<probe::Note>::descriptor().id;
  REQUIRE(table.find_subscription({"news", "loss"}, note) != nullptr);
  CHECK(table.find_subscription({"news", "win"}, note) !=
        table.find_subscription({"olds", "win"}, note));
  CHECK(table.find_subscription({"olds", "loss"}, note) == nullptr);
  CHECK(table.find_subscription({"olds", "win"}, PacketTraits<probe::Ask>::descriptor().id) ==
        nullptr);
  CHECK(table.find(Receiver::Spot, MessageKind::Send, note)->topic == std::nullopt);

  const std::string twice = refusal_of([](Handlers<Subscriber>& again) {
    again.subscribe("news", "win", &Subscriber::win);
    again.subscribe("news", "win", &Subscriber::win_later);
  });
  CHECK(twice.find("subscription to topic 'win' of channel 'news' for packet 'probe.Note' is "
                   "registered twice") != std::string::npos);
  CHECK(refusal_of([](Handlers<Subscriber>& wrong) {
          wrong.subscribe("", "win", &Subscriber::win);
        }).find("names no channel") != std::string::npos);
  CHECK(refusal_of([](Handlers<Subscriber>& wrong) {
          wrong.subscribe("news", std::string(256, 'x'), &Subscriber::win);
        }).find("names no topic") != std::string::npos);
}

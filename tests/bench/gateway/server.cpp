// The server of the gateway's benchmark, and of the test with a crowd: sessions that echo, Actors
// that do, and rooms that broadcast.
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include <spotmesh/host.hpp>
#include <spotmesh/spotmesh.hpp>

#include "gate.packets.hpp"

namespace gate {
namespace {

using spotmesh::Result;
using spotmesh::Task;

constexpr std::string_view player_type = "player";
constexpr std::string_view room_type = "room";

class Player final : public spotmesh::Actor {
 public:
  using Actor::Actor;

  static void handlers(spotmesh::ActorHandlers<Player>& on) {
    on.request(&Player::bounce);
    on.send(&Player::go_to);
  }
  Bounced bounce(const Bounce& packet) { return {.text = packet.text}; }
  Result<void> go_to(const inside::GoTo& packet) {
    room_ = packet.room;
    auto registered = context().join_spot(room_).defer();
    if (!registered) return fail(registered.error());
    return {};
  }
  // A room that somebody else is just making is there in a moment. A Join can be registered in a
  // handler only.
  Task<void> on_join_completed(const spotmesh::JoinCompletion& completion) override {
    const auto* failed = std::get_if<spotmesh::JoinFailed>(&completion);
    if (failed == nullptr) {
      std::ignore = context().bound_session().send(Arrived{});
    } else if (failed->error.kind() == spotmesh::ErrorKind::Unavailable) {
      std::ignore = context()
                        .actors()
                        .send(context().actor_id().text(), inside::GoTo{.room = room_})
                        .submit();
    } else {
      context().log().error("could not join", {{"error", to_string(failed->error)}});
    }
    co_return;
  }

 private:
  std::string room_;
};

class Hall final : public spotmesh::EntrySpot<Player> {
 public:
  using EntrySpot::EntrySpot;
};

class Room final : public spotmesh::UserSpot<Player> {
 public:
  using UserSpot::UserSpot;

  static void handlers(spotmesh::Handlers<Room>& on) { on.send(&Room::shout); }
  void shout(Player&, const Shout& packet) { context().broadcast(Heard{.text = packet.text}); }
};

class Client final : public spotmesh::Session {
 public:
  using Session::Session;

  static void handlers(spotmesh::SessionHandlers<Client>& on) {
    on.request(&Client::echo);
    on.request(&Client::burst);
    on.request(&Client::enter);
  }
  Echoed echo(const Echo& packet) { return {.text = packet.text}; }
  Result<Burnt> burst(const Burst& packet) {
    for (int i = 0; i < packet.count; ++i) {
      if (auto sent = context().send(Spark{.number = i}); !sent) return fail(sent.error());
    }
    return Burnt{};
  }
  Task<Result<Entered>> enter(const Enter& packet) {
    auto player = co_await context().actors().get_or_create(packet.player, player_type).submit();
    if (!player) co_return fail(player.error());
    const auto* created = std::get_if<spotmesh::Created>(&*player);
    if (created == nullptr) co_return fail(spotmesh::Error::already_exists(packet.player));
    if (auto bound = co_await context().bind(created->actor); !bound) {
      co_return fail(bound.error());
    }
    if (packet.room.empty()) co_return Entered{};
    auto room = co_await context().spots().get_or_create(packet.room, room_type).submit();
    if (!room) co_return fail(room.error());
    auto sent =
        co_await context().actors().send(packet.player, inside::GoTo{.room = packet.room}).submit();
    if (!sent) co_return fail(sent.error());
    co_return Entered{};
  }
};

}  // namespace
}  // namespace gate

int main(int argc, char** argv) {
  spotmesh::Host host(argc, argv);
  auto& app = host.application();
  app.packets(gate::packets());
  auto& play = app.mesh("play").object_server();
  play.entry_spot<gate::Hall>();
  play.actor<gate::Player>(gate::player_type, [](auto& f) { f.disable_relocation(); });
  play.user_spot<gate::Room>(gate::room_type, [](auto& f) { f.disable_relocation(); });
  app.stream("gateway").session<gate::Client>();
  return host.run();
}

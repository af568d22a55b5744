// A game of one button: a session logs in as an Actor that counts presses.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include <spotmesh/spotmesh.hpp>

#include "counter.packets.hpp"

namespace counter {

struct Player : spotmesh::Actor {
  using Actor::Actor;
  static void handlers(spotmesh::ActorHandlers<Player>& on) { on.request(&Player::press); }
  Pressed press(const Press&) { return {.count = ++count_}; }

 private:
  std::int32_t count_ = 0;
};

struct Hall : spotmesh::EntrySpot<Player> {
  using EntrySpot::EntrySpot;
};

struct GameSession : spotmesh::Session {
  using Session::Session;
  static void handlers(spotmesh::SessionHandlers<GameSession>& on) {
    on.request(&GameSession::enter);
    on.request(&GameSession::press_for);
  }
  spotmesh::Task<spotmesh::Result<Pressed>> press_for(const PressFor& other) {
    co_return co_await context().actors().request<Pressed>(other.name, Press{}).submit();
  }
  spotmesh::Task<spotmesh::Result<Entered>> enter(const Enter& enter) {
    auto player = co_await context().actors().get_or_create(enter.name, "player").submit();
    if (!player) co_return spotmesh::fail(player.error());
    const auto* created = std::get_if<spotmesh::Created>(&*player);
    const spotmesh::ActorRef& ref =
        created != nullptr ? created->actor : std::get<spotmesh::Existing>(*player).actor;
    if (auto bound = co_await context().bind(ref); !bound) {
      co_return spotmesh::fail(bound.error());
    }
    co_return Entered{.is_new = created != nullptr, .node = ref.node_rid.text};
  }
};

// The Actors without the sessions. `made`, when given, counts what the factory has made.
inline void configure_objects(spotmesh::Application& app, unsigned* made = nullptr) {
  app.packets(packets());
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Hall>();
  play.actor<Player>("player", [made](auto& factory) {
    factory.recreate_on_relocation().create_with([made](spotmesh::ActorContext& context) {
      if (made != nullptr) ++*made;
      return std::make_unique<Player>(context);
    });
  });
}

inline void configure(spotmesh::Application& app, unsigned* made = nullptr) {
  configure_objects(app, made);
  app.stream("gateway").session<GameSession>();
}

}  // namespace counter

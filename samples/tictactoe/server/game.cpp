#include "server/game.hpp"

#include <memory>

#include <spotmesh/spotmesh.hpp>

#include "server/directory.hpp"
#include "server/game_session.hpp"
#include "server/lobby.hpp"
#include "server/names.hpp"
#include "server/player.hpp"
#include "server/room.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

void configure(spotmesh::Application& app, const GameOptions& options) {
  // Only what clients may send; what Actors and Spots say to each other stays inside.
  app.packets(packets());

  auto& play = app.mesh("play").object_server();
  play.entry_spot<Lobby>();
  play.actor<Player>(player_type, [options](auto& f) {
    f.template preserve_state_with<PlayerRelocation>();
    f.create_with([options](spotmesh::ActorContext& context) {
      return std::make_unique<Player>(context, options);
    });
  });
  play.user_spot<Room>(room_type, [options](auto& f) {
    f.disable_relocation();
    f.create_with([options](spotmesh::SpotContext& context) {
      return std::make_unique<Room>(context, options);
    });
  });
  play.user_spot<Directory>(directory_type, [](auto& f) { f.disable_relocation(); });

  app.stream("gateway").session<GameSession>();
}

}  // namespace tictactoe

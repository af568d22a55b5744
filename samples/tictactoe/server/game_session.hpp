// A client's connection: it logs in, and from then on everything it sends goes to its player.
#pragma once

#include <string>

#include <spotmesh/spotmesh.hpp>

#include "internal.packets.hpp"
#include "tictactoe.packets.hpp"

namespace tictactoe {

class GameSession : public spotmesh::Session {
 public:
  using Session::Session;
  static void handlers(spotmesh::SessionHandlers<GameSession>& on);

  // The player has come back on another connection.
  spotmesh::Task<void> on_replaced(const spotmesh::ActorRef& player) override;
  // The node that had the player is gone, or an operator has ended the player.
  spotmesh::Task<void> on_actor_gone(const spotmesh::ActorRef& player) override;

 private:
  struct Arrival {
    spotmesh::ActorRef player;
    LoginResult result;
  };

  spotmesh::Task<spotmesh::Result<LoginResult>> login(const Login& login);
  // Makes the player, or finds the one who is here already.
  spotmesh::Task<spotmesh::Result<Arrival>> arrive(internal::CreatePlayer who);
  spotmesh::Task<spotmesh::Result<Arrival>> come_back(spotmesh::ActorRef player,
                                                      internal::CreatePlayer who);

  std::string name_;  // empty before the login
};

}  // namespace tictactoe

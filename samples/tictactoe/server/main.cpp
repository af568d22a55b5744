// The server: the game, run on real sockets.

#include <chrono>

#include <spotmesh/host.hpp>

#include "server/game.hpp"

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  spotmesh::Host host(argc, argv);
  tictactoe::GameOptions options;
  options.turn_limit = host.settings().duration("game.turn_limit", 30s, {500ms, 10min},
                                                "what a turn may take before it is lost");
  options.absence_limit =
      host.settings().duration("game.absence_limit", 60s, {500ms, 1h},
                               "how long a player whose connection is lost keeps name and seat");
  tictactoe::configure(host.application(), options);
  return host.run();
}

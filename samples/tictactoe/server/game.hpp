// What this game registers, apart from how it is run.
#pragma once

#include <spotmesh/application.hpp>

#include "server/game_options.hpp"

namespace tictactoe {

void configure(spotmesh::Application& app, const GameOptions& options = {});

}  // namespace tictactoe

// What players are told of what went wrong.
#pragma once

#include <spotmesh/error.hpp>

namespace tictactoe {

// `error` as a player may see it. The game's own refusals, Rejected and InvalidOperation, are
// written for people and stay as they are. All other errors speak of ids, nodes and stores, which
// tell a player nothing and are nobody else's business: their kind stays, so that a client knows
// whether to try again, and their text is another one.
spotmesh::Error refusal(const spotmesh::Error& error);

}  // namespace tictactoe

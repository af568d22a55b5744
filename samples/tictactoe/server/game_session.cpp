#include "server/game_session.hpp"

#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "server/names.hpp"
#include "server/refusal.hpp"

namespace tictactoe {

using spotmesh::ActorRef;
using spotmesh::Error;
using spotmesh::Result;
using spotmesh::Task;

namespace {

// The player went away between two steps of a login; the next try finds nobody there.
Error just_leaving(const std::string& name) {
  return Error::unavailable(fmt::format("'{}' is just leaving: try again in a moment", name));
}

}  // namespace

void GameSession::handlers(spotmesh::SessionHandlers<GameSession>& on) {
  on.request(&GameSession::login);
}

Task<Result<LoginResult>> GameSession::login(const Login& login) {
  if (!name_.empty()) {
    co_return fail(Error::invalid_operation(
        fmt::format("this connection is logged in already, as '{}'", name_)));
  }
  auto name = clean_player_name(login.name);
  if (!name) co_return fail(name.error());
  if (auto sound = check_device_token(login.device_token); !sound) co_return fail(sound.error());

  auto arrival = co_await arrive({.name = *name, .device_token = login.device_token});
  if (!arrival) co_return fail(arrival.error());
  if (auto bound = co_await context().bind(arrival->player); !bound) {
    co_return fail(just_leaving(*name));
  }
  name_ = arrival->result.name;
  co_return arrival->result;
}

Task<Result<GameSession::Arrival>> GameSession::arrive(internal::CreatePlayer who) {
  auto player = co_await context()
                    .actors()
                    .get_or_create(player_id(who.name), player_type)
                    .request(who)
                    .submit();
  if (!player) co_return fail(refusal(player.error()));
  if (const auto* created = std::get_if<spotmesh::Created>(&*player)) {
    co_return Arrival{.player = created->actor, .result = {.name = who.name}};
  }
  if (const auto* existing = std::get_if<spotmesh::Existing>(&*player)) {
    co_return co_await come_back(existing->actor, who);
  }
  co_return fail(Error::rejected(fmt::format("'{}' was not let in", who.name)));
}

Task<Result<GameSession::Arrival>> GameSession::come_back(ActorRef player,
                                                          internal::CreatePlayer who) {
  auto proven =
      co_await context()
          .actors()
          .request<internal::Authenticated>(
              player.actor_id.text(), internal::Authenticate{.device_token = who.device_token})
          .submit();
  if (proven) {
    co_return Arrival{.player = player, .result = {.name = proven->name, .is_resumed = true}};
  }
  const bool is_gone = proven.error().kind() == spotmesh::ErrorKind::NotFound;
  co_return fail(is_gone ? just_leaving(who.name) : refusal(proven.error()));
}

Task<void> GameSession::on_replaced(const ActorRef&) {
  std::ignore = context().send(ReplacedNotify{.name = name_});
  co_return;
}

// Whoever only waits for the opponent would never hear of it. Clients come again by themselves.
Task<void> GameSession::on_actor_gone(const ActorRef&) {
  context().close("the server that your game was on is gone: come in again and begin a new one");
  co_return;
}

}  // namespace tictactoe

#include "server/lobby.hpp"

#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "server/names.hpp"
#include "server/refusal.hpp"

namespace tictactoe {

using spotmesh::CreateDecision;
using spotmesh::Error;
using spotmesh::ErrorKind;
using spotmesh::Result;
using spotmesh::Task;

void Lobby::handlers(spotmesh::Handlers<Lobby>& on) {
  on.request(&Lobby::sync);
  on.request(&Lobby::list_rooms);
  on.request(&Lobby::open_room);
  on.request(&Lobby::join_room);
  on.request(&Lobby::spectate);
  on.send(&Lobby::player_gone);
}

// ---- coming and going ---------------------------------------------------------------------------

Task<CreateDecision> Lobby::on_create_actor(Player& player, const spotmesh::Message& request) {
  auto introduction = request.decode<internal::CreatePlayer>();
  if (!introduction) co_return CreateDecision::reject();
  player.introduce(*introduction);
  co_return CreateDecision::accept();
}

Task<void> Lobby::on_joined_actor(Player& player) {
  player.enter_lobby();
  co_return;
}

Task<void> Lobby::on_leave_actor(Player& player) {
  stop_telling(player);
  co_return;
}

Task<void> Lobby::on_disconnect_actor(Player& player) {
  stop_telling(player);
  player.begin_absence();
  co_return;
}

Result<void> Lobby::player_gone(Player& player, const internal::PlayerGone&) const {
  if (!player.is_away()) return {};
  player.begin_absence();  // should the store be away just now, this is tried again
  return context().destroy_actor_after_turn(player);
}

// ---- the list of rooms --------------------------------------------------------------------------

SyncResult Lobby::sync(Player&, const Sync&) const { return {}; }

Task<Result<RoomList>> Lobby::list_rooms(Player& player, const ListRooms&) const {
  if (auto ready = co_await ensure_directory(player); !ready) co_return fail(ready.error());
  auto list =
      co_await player.context()
          .spots()
          .request<RoomList>(directory_id(context().node_rid()),
                             internal::Subscribe{.player_id = player.context().actor_id().text()})
          .submit();
  if (!list) co_return fail(refusal(list.error()));
  co_return *std::move(list);
}

Task<Result<void>> Lobby::ensure_directory(Player& player) const {
  auto directory = co_await player.context()
                       .spots()
                       .get_or_create(directory_id(context().node_rid()), directory_type)
                       .submit();
  if (!directory) co_return fail(refusal(directory.error()));
  co_return Result<void>();
}

void Lobby::stop_telling(Player& player) {
  std::ignore = context()
                    .spots()
                    .send(directory_id(context().node_rid()),
                          internal::Unsubscribe{.player_id = player.context().actor_id().text()})
                    .submit();
}

// ---- into a room --------------------------------------------------------------------------------

namespace {

Result<Entering> enter(Player& player, std::string_view room, Role role) {
  auto name = clean_room_name(room);
  if (!name) return fail(name.error());
  if (auto begun = player.go_to(*name, role); !begun) return fail(refusal(begun.error()));
  return Entering{.room = std::move(*name), .role = role};
}

}  // namespace

Task<Result<Entering>> Lobby::open_room(Player& player, const OpenRoom& open) const {
  auto name = clean_room_name(open.room);
  if (!name) co_return fail(name.error());
  if (auto ready = co_await ensure_directory(player); !ready) co_return fail(ready.error());
  auto room = co_await player.context()
                  .spots()
                  .get_or_create(room_id(*name), room_type)
                  .request(internal::CreateRoom{.room = *name})
                  .submit();
  if (!room) co_return fail(refusal(room.error()));
  if (std::holds_alternative<spotmesh::Rejected>(*room)) {
    co_return fail(Error::rejected(fmt::format("room '{}' could not be opened", *name)));
  }
  co_return enter(player, *name, Role::Player);
}

Result<Entering> Lobby::join_room(Player& player, const JoinRoom& join) const {
  return enter(player, join.room, Role::Player);
}

Result<Entering> Lobby::spectate(Player& player, const Spectate& spectate) const {
  return enter(player, spectate.room, Role::Spectator);
}

}  // namespace tictactoe

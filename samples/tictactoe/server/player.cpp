#include "server/player.hpp"

#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "server/names.hpp"
#include "server/refusal.hpp"

namespace tictactoe {

using spotmesh::Error;
using spotmesh::ErrorKind;
using spotmesh::Result;
using spotmesh::Task;

Player::Player(spotmesh::ActorContext& context, const GameOptions& options)
    : Actor(context), options_(options) {}

void Player::handlers(spotmesh::ActorHandlers<Player>& on) {
  on.request(&Player::authenticate);
  on.send(&Player::show_rooms);
  on.timer("absence", &Player::absence_has_ended);
  on.request(&Player::not_here<RoomList, ListRooms>);
  on.request(&Player::not_here<Entering, OpenRoom>);
  on.request(&Player::not_here<Entering, JoinRoom>);
  on.request(&Player::not_here<Entering, Spectate>);
  on.request(&Player::not_here<PlaceMarkResult, PlaceMark>);
  on.request(&Player::not_here<RematchResult, Rematch>);
  on.request(&Player::not_here<Leaving, LeaveRoom>);
}

void Player::introduce(const internal::CreatePlayer& request) {
  state_.name = request.name;
  state_.device_token = request.device_token;
  begin_absence();  // a login that is not completed leaves no player behind
}

Result<internal::Authenticated> Player::authenticate(const internal::Authenticate& request) {
  if (request.device_token != state_.device_token) {
    return fail(Error::rejected(fmt::format("the name '{}' is taken by another player", name())));
  }
  if (!is_connected()) begin_absence();
  return internal::Authenticated{.name = name()};
}

void Player::show_rooms(const RoomListNotify& rooms) {
  // A list that was on its way while the player went into a room is of no use there.
  if (state_.room.empty()) push(rooms);
}

Error Player::not_possible_here(std::string_view packet) const {
  const std::string here =
      state_.room.empty() ? "the lobby" : fmt::format("room '{}'", state_.room);
  return Error::invalid_operation(fmt::format("{} is not possible in {}", packet, here));
}

// ---- going somewhere ----------------------------------------------------------------------------

Result<void> Player::go_to(std::string room, Role role) {
  auto registered =
      context().join_spot(room_id(room), internal::Enter{.role = role, .name = name()}).defer();
  if (!registered) return fail(registered.error());
  destination_ = std::move(room);
  role_ = role;
  return {};
}

Result<void> Player::go_to_lobby() {
  auto registered = context().join_entry_spot().defer();
  if (!registered) return fail(registered.error());
  return {};
}

void Player::enter_room(std::string room) {
  destination_.clear();
  state_.room = std::move(room);
}

void Player::enter_lobby() {
  push(LobbyNotify{.room = std::exchange(state_.room, {})});
  if (!is_connected()) std::ignore = context().timers().start_once("absence", {});
}

Task<void> Player::on_join_completed(const spotmesh::JoinCompletion& completion) {
  if (const auto* rejected = std::get_if<spotmesh::JoinRejected>(&completion)) {
    turned_away(*rejected);
  } else if (const auto* failed = std::get_if<spotmesh::JoinFailed>(&completion)) {
    did_not_arrive(failed->error);
  }
  co_return;
}

void Player::turned_away(const spotmesh::JoinRejected& rejected) {
  EnterFailedNotify notify{.room = std::exchange(destination_, {}), .message = "the room said no"};
  if (auto refused = rejected.reply.decode<internal::EnterRefused>()) {
    notify.message = refused->message;
    notify.is_full = refused->is_full;
  }
  push(notify);
}

void Player::did_not_arrive(const Error& error) {
  if (!state_.room.empty()) {
    context().log().warning("could not leave a room",
                            {{"room", state_.room}, {"error", to_string(error)}});
    if (!is_connected()) begin_absence();
    return;
  }
  EnterFailedNotify notify{.room = std::exchange(destination_, {}),
                           .message = refusal(error).message()};
  if (error.kind() == ErrorKind::NotFound) {
    notify.message = fmt::format("there is no room '{}'", notify.room);
  }
  push(notify);
}

// ---- being away ---------------------------------------------------------------------------------

void Player::begin_absence() {
  state_.is_away = false;
  std::ignore = context().timers().start_once("absence", options_.absence_limit);
}

void Player::absence_has_ended() {
  if (is_connected()) return;
  state_.is_away = true;
  // Where the player is decides what follows; see Lobby and Room.
  std::ignore =
      context().actors().send(context().actor_id().text(), internal::PlayerGone{}).submit();
}

spotmesh::Bytes PlayerRelocation::capture(const Player& player) {
  return spotmesh::PacketTraits<internal::PlayerState>::encode(player.state());
}

void PlayerRelocation::restore(Player& player, const spotmesh::Bytes& state) {
  auto decoded = spotmesh::PacketTraits<internal::PlayerState>::decode(state);
  if (!decoded) throw std::runtime_error(decoded.error().message());
  player.set_state(std::move(*decoded));
}

}  // namespace tictactoe

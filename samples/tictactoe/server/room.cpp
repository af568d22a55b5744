#include "server/room.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

#include <fmt/format.h>

#include "server/names.hpp"

namespace tictactoe {

using namespace std::chrono_literals;
using spotmesh::CreateDecision;
using spotmesh::Error;
using spotmesh::JoinDecision;
using spotmesh::Result;
using spotmesh::Task;

namespace {

constexpr auto unused_limit = 15s;
constexpr auto announcement_period = 20s;
constexpr std::size_t most_spectators_named = 20;

std::int32_t in_milliseconds(spotmesh::Duration duration) {
  return static_cast<std::int32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Room::Room(spotmesh::SpotContext& context, const GameOptions& options)
    : UserSpot(context), options_(options) {}

void Room::handlers(spotmesh::Handlers<Room>& on) {
  on.request(&Room::sync);
  on.request(&Room::place_mark);
  on.request(&Room::rematch);
  on.request(&Room::take_seat);
  on.request(&Room::leave_room);
  on.send(&Room::player_gone);
  on.timer("turn", &Room::turn_timed_out);
  on.timer("unused", &Room::close_unused);
  on.timer("announce", announcement_period, &Room::announce);
}

// ---- coming and going ---------------------------------------------------------------------------

Task<CreateDecision> Room::on_create(const spotmesh::Message& request) {
  auto created = request.decode<internal::CreateRoom>();
  if (!created) co_return CreateDecision::reject();
  name_ = std::move(created->room);
  // Whoever opened it may be gone before arriving.
  std::ignore = context().timers().start_once("unused", unused_limit);
  co_return CreateDecision::accept();
}

Task<JoinDecision> Room::on_actor_join(std::string_view, const spotmesh::Message& request) {
  auto enter = request.decode<internal::Enter>();
  if (!enter) co_return JoinDecision::reject();
  if (enter->role == Role::Player && !match_.has_free_seat()) {
    co_return JoinDecision::reject(internal::EnterRefused{
        .message = fmt::format("room '{}' is full", name_), .is_full = true});
  }
  if (context().member_count() >= options_.most_in_room) {
    co_return JoinDecision::reject(
        internal::EnterRefused{.message = fmt::format("room '{}' is crowded: {} are there", name_,
                                                      context().member_count())});
  }
  co_return JoinDecision::accept();
}

Task<void> Room::on_joined_actor(Player& player) {
  player.enter_room(name_);
  // Two may have been let in for one seat; the later one watches.
  if (player.role() == Role::Spectator || match_.sit(player.name()) == Mark::None) {
    spectators_.push_back(player.name());
  }
  std::ignore = context().close_when_empty();
  changed();
  co_return;
}

Task<void> Room::on_leave_actor(Player& player) {
  match_.stand(player.name());
  std::erase(spectators_, player.name());
  changed();
  co_return;
}

Task<void> Room::on_disconnect_actor(Player& player) {
  player.begin_absence();
  if (match_.set_connected(player.name(), false)) changed();
  co_return;
}

Task<void> Room::on_closing(spotmesh::ClosingReason, spotmesh::Instant) {
  std::ignore = context()
                    .spots()
                    .send(directory_id(context().node_rid()), internal::RoomClosed{.room = name_})
                    .submit();
  co_return;
}

Result<void> Room::close_unused() { return context().close_when_empty(); }

Result<Leaving> Room::leave_room(Player& player, const LeaveRoom&) {
  if (auto begun = player.go_to_lobby(); !begun) return fail(begun.error());
  return Leaving{.room = name_};
}

Result<void> Room::player_gone(Player& player, const internal::PlayerGone&) {
  if (!player.is_away()) return {};
  return player.go_to_lobby();
}

// ---- playing ------------------------------------------------------------------------------------

SyncResult Room::sync(Player& player, const Sync&) {
  if (match_.set_connected(player.name(), true)) changed();
  return SyncResult{.room = state()};
}

Result<PlaceMarkResult> Room::place_mark(Player& player, const PlaceMark& move) {
  if (auto placed = match_.place(player.name(), move.cell); !placed) return fail(placed.error());
  changed();
  return PlaceMarkResult{.state = state()};
}

Result<RematchResult> Room::rematch(Player& player, const Rematch&) {
  if (auto asked = match_.ask_rematch(player.name()); !asked) return fail(asked.error());
  changed();
  return RematchResult{.state = state()};
}

Result<Entering> Room::take_seat(Player& player, const JoinRoom& join) {
  auto wanted = clean_room_name(join.room);
  if (!wanted) return fail(wanted.error());
  if (room_id(*wanted) != room_id(name_)) {
    return fail(Error::invalid_operation(
        fmt::format("you are in room '{}': leave it before you join '{}'", name_, *wanted)));
  }
  if (match_.mark_of(player.name()) != Mark::None) {
    return fail(Error::invalid_operation("you have a seat already"));
  }
  if (match_.sit(player.name()) == Mark::None) {
    return fail(Error::invalid_operation("both seats are taken"));
  }
  std::erase(spectators_, player.name());
  changed();
  return Entering{.room = name_, .role = Role::Player};
}

void Room::turn_timed_out() {
  match_.time_out();
  changed();
}

// ---- what everybody sees ------------------------------------------------------------------------

void Room::changed() {
  ++revision_;
  set_clock();
  std::ignore = context().broadcast(GameStateNotify{.state = state()});
  if (summary() != announced_) announce();
}

// The clock starts anew with every turn and stands still between rounds.
void Room::set_clock() {
  if (match_.phase() != Phase::Playing) {
    clocked_turn_.reset();
    context().timers().cancel("turn");
    return;
  }
  const std::pair turn(match_.round(), match_.board().move_count());
  if (clocked_turn_ == turn) return;
  clocked_turn_ = turn;
  turn_ends_ = context().now() + options_.turn_limit;
  std::ignore = context().timers().start_once("turn", options_.turn_limit);
}

void Room::announce() {
  announced_ = summary();
  std::ignore =
      context()
          .spots()
          .send(directory_id(context().node_rid()), internal::RoomChanged{.room = announced_})
          .submit();
}

GameState Room::state() const {
  const Board& board = match_.board();
  const auto left =
      clocked_turn_ ? std::max(turn_ends_ - context().now(), spotmesh::Duration(0)) : 0ns;
  const std::size_t named = std::min(spectators_.size(), most_spectators_named);
  return GameState{
      .room = name_,
      .generation = context().object_generation().value,
      .revision = revision_,
      .round = match_.round(),
      .phase = match_.phase(),
      .cells = {board.cells().begin(), board.cells().end()},
      .turn = match_.turn(),
      .turn_limit_ms = in_milliseconds(options_.turn_limit),
      .turn_left_ms = in_milliseconds(left),
      .last_cell = board.last_cell(),
      .winning_cells = board.winning_cells(),
      .outcome = match_.outcome(),
      .winner = match_.winner(),
      .x = match_.seat(Mark::X),
      .o = match_.seat(Mark::O),
      .draws = match_.draws(),
      .spectators = {spectators_.begin(), spectators_.begin() + static_cast<std::ptrdiff_t>(named)},
      .spectator_count = static_cast<std::int32_t>(spectators_.size()),
  };
}

RoomSummary Room::summary() const {
  RoomSummary summary{.name = name_,
                      .phase = match_.phase(),
                      .players = {},
                      .spectators = static_cast<std::int32_t>(spectators_.size())};
  for (const Mark mark : {Mark::X, Mark::O}) {
    if (const auto& seat = match_.seat(mark)) summary.players.push_back(seat->name);
  }
  return summary;
}

}  // namespace tictactoe

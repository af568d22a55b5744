#include "bots/bot_player.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace tictactoe {

using spotmesh::Duration;
using spotmesh::Error;
using spotmesh::Message;
using spotmesh::Result;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto pause_between_logins = std::chrono::milliseconds(250);

std::string make_device_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

}  // namespace

BotPlayer::BotPlayer(std::uint16_t port, std::string name, spotmesh::client::Form form)
    : port_(port), name_(std::move(name)), form_(form), device_token_(make_device_token()) {}

BotPlayer BotPlayer::on_another_page(std::uint16_t port) const {
  BotPlayer twin(port, name_, form_);
  twin.device_token_ = device_token_;
  return twin;
}

Mark BotPlayer::mark() const {
  if (!state_) return Mark::None;
  if (state_->x && state_->x->name == name_) return Mark::X;
  if (state_->o && state_->o->name == name_) return Mark::O;
  return Mark::None;
}

// Unavailable passes, such as in the first seconds of a cluster, when its nodes do not know yet
// which of them are alive: asks again, as the page does.
Result<LoginResult> BotPlayer::introduce(spotmesh::client::Connection& connection) const {
  const auto give_up_at = Clock::now() + patience;
  while (true) {
    auto login =
        connection.request<LoginResult>(Login{.name = name_, .device_token = device_token_});
    const bool may_pass = !login && login.error().kind() == spotmesh::ErrorKind::Unavailable;
    if (!may_pass || Clock::now() >= give_up_at) return login;
    // Nothing is pushed before a login; this hears of the connection's end.
    if (const auto push = connection.next_push(pause_between_logins);
        !push && push.error().kind() != spotmesh::ErrorKind::DeadlineExceeded) {
      return fail(push.error());
    }
  }
}

Result<LoginResult> BotPlayer::log_in() {
  auto connection =
      spotmesh::client::Connection::open({.url = fmt::format("ws://127.0.0.1:{}/stream", port_),
                                          .form = form_,
                                          .packets = packets(),
                                          .timeout = patience});
  if (!connection) return fail(connection.error());
  auto login = introduce(*connection);
  if (!login) return login;
  auto here = connection->request<SyncResult>(Sync{});
  if (!here) return fail(here.error());
  connection_ = std::move(*connection);
  name_ = login->name;
  state_ = here->room;
  return login;
}

Result<void> BotPlayer::arrive() {
  auto push = wait_for_push(
      [](const Message& message) {
        return message.holds<GameStateNotify>() || message.holds<EnterFailedNotify>();
      },
      patience);
  if (!push) return fail(push.error());
  if (auto failed = push->decode<EnterFailedNotify>())
    return fail(Error::rejected(failed->message));
  return {};
}

Result<void> BotPlayer::leave_room() {
  if (auto leaving = connection_->request<Leaving>(LeaveRoom{}); !leaving) {
    return fail(leaving.error());
  }
  if (auto lobby = wait_for<LobbyNotify>(); !lobby) return fail(lobby.error());
  state_.reset();
  return {};
}

Result<void> BotPlayer::place(int cell) {
  auto placed = connection_->request<PlaceMarkResult>(PlaceMark{.cell = cell});
  if (!placed) return fail(placed.error());
  note(placed->state);
  return {};
}

Result<void> BotPlayer::ask_rematch() {
  auto asked = connection_->request<RematchResult>(Rematch{});
  if (!asked) return fail(asked.error());
  note(asked->state);
  return {};
}

Result<GameState> BotPlayer::wait_until(const Wish& wish, Duration timeout) {
  const auto deadline = Clock::now() + timeout;
  while (!state_ || !wish(*state_)) {
    const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now());
    auto push =
        wait_for_push([](const Message& message) { return message.holds<GameStateNotify>(); },
                      std::max(Duration(0), left));
    if (!push) return fail(push.error());
  }
  return *state_;
}

Result<Message> BotPlayer::wait_for_push(const std::function<bool(const Message&)>& is_wanted,
                                         Duration timeout) {
  const auto deadline = Clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now());
    auto push = connection_->next_push(std::max(Duration(0), left));
    if (!push) return push;
    if (auto notify = push->decode<GameStateNotify>()) note(notify->state);
    if (is_wanted(*push)) return push;
  }
}

// A reply and a push may overtake each other; the newer state is the true one.
void BotPlayer::note(const GameState& state) {
  const bool is_older =
      state_ && state_->generation == state.generation && state.revision < state_->revision;
  if (!is_older) state_ = state;
}

}  // namespace tictactoe

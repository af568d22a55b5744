#include "bots/demo.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace tictactoe {

using namespace std::chrono_literals;
using spotmesh::Result;

namespace {

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);  // a demo is watched as it goes, also through a pipe
}

void expect(bool is_so, std::string_view what) {
  if (!is_so) throw DemoFailure(std::string(what));
}

template <typename T>
T must(Result<T> result, std::string_view what) {
  if (!result) throw DemoFailure(fmt::format("{}: {}", what, to_string(result.error())));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string row_of(const GameState& state, std::size_t row) {
  std::string text;
  for (std::size_t column = 0; column < 3; ++column) {
    const Mark mark = state.cells[row * 3 + column];
    text += mark == Mark::X ? 'X' : mark == Mark::O ? 'O' : '.';
  }
  return text;
}

std::string name_at(const std::optional<Seat>& seat) { return seat ? seat->name : "nobody"; }

}  // namespace

Demo::Demo(std::vector<std::uint16_t> ports, std::string room)
    : ports_(std::move(ports)),
      room_(std::move(room)),
      ann_(port_of(0), "Ann", spotmesh::client::Form::Json),
      bob_(port_of(1), "Bob"),
      cleo_(port_of(2), "Cleo") {}

void Demo::play() {
  meet();
  play_a_win();
  rematch();
  play_a_draw_across_a_lost_connection();
  rematch();
  let_the_clock_run_out();
  rematch();
  walk_out();
  continue_elsewhere();
  part();
}

void Demo::meet() {
  for (BotPlayer* player : {&ann_, &bob_, &cleo_}) must(player->log_in(), "log in");
  BotPlayer impostor(port_of(1), "ann");
  const auto refused = impostor.log_in();
  expect(!refused, "the name of another player is refused");
  expect(refused.error().message() == "the name 'Ann' is taken by another player",
         to_string(refused.error()));
  say("Ann, Bob and Cleo have logged in; a second 'ann' was refused");
  if (ports_.size() > 1) say(fmt::format("They have come to {} servers", ports_.size()));

  must(cleo_.list_rooms(), "list the rooms");
  must(ann_.open_room(room_), "open the room");
  while (true) {
    const auto list = must(cleo_.wait_for<RoomListNotify>(), "hear of the new room");
    if (!list.rooms.empty() && list.rooms[0].name == room_) break;
  }
  must(bob_.join_room(room_), "join the room");
  must(cleo_.spectate(room_), "watch the room");
  all_see("round 1 with Cleo watching", [](const GameState& state) {
    return state.round == 1 && state.phase == Phase::Playing && state.spectator_count == 1;
  });
  say(fmt::format("Ann has opened '{}', Bob has joined, Cleo is watching", room_));
}

void Demo::play_a_win() {
  say("Round 1: Ann is X, Bob is O");
  expect_refusal(bob_.place(4), "it is Ann's turn");
  play_moves({4});
  expect_refusal(bob_.place(4), "cell 4 is taken");
  expect_refusal(bob_.place(9), "cell 9 is not on the board: cells are 0 to 8");
  expect_refusal(cleo_.place(0), "spectators cannot move");
  play_moves({0, 2, 3, 6});
  all_see("Ann's win", [](const GameState& state) {
    return state.outcome == Outcome::Win && state.winner == Mark::X && state.x->wins == 1 &&
           state.winning_cells == std::vector<std::int32_t>{2, 4, 6};
  });
  expect_refusal(bob_.place(8), "the round is over");
  say("  Ann wins");
}

void Demo::play_a_draw_across_a_lost_connection() {
  say("Round 2: Bob is X, Ann is O");
  play_moves({4, 0, 8});
  bob_.lose_connection();
  must(ann_.wait_until([](const GameState& state) { return !state.x->is_connected; }),
       "see that Bob's connection is lost");
  const auto login = must(bob_.log_in(), "log in again");
  expect(login.is_resumed, "Bob is known after the reconnect");
  expect(bob_.mark() == Mark::X && bob_.state()->cells == ann_.state()->cells,
         "Bob is back at his seat, with the board as it was");
  must(ann_.wait_until([](const GameState& state) { return state.x->is_connected; }),
       "see that Bob is back");
  say("  Bob's connection was lost; he continues where he was");
  play_moves({2, 1, 7, 3, 5, 6});
  all_see("the draw", [](const GameState& state) {
    return state.outcome == Outcome::Draw && state.winner == Mark::None && state.draws == 1;
  });
  say("  a draw");
}

void Demo::let_the_clock_run_out() {
  say("Round 3: Ann is X, Bob is O");
  play_moves({4});
  const auto limit = std::chrono::milliseconds(ann_.state()->turn_limit_ms);
  for (BotPlayer* player : {&ann_, &bob_, &cleo_}) {
    must(player->wait_until([](const GameState& state) { return state.phase == Phase::Finished; },
                            limit + patience),
         "see the clock run out");
    expect(player->state()->outcome == Outcome::Timeout && player->state()->winner == Mark::X,
           "whoever lets the clock run out loses");
  }
  say(fmt::format("  Bob let his {} s run out: Ann wins", limit / 1.0s));
}

void Demo::walk_out() {
  say("Round 4: Bob is X, Ann is O");
  play_moves({0, 4});
  must(ann_.leave_room(), "leave the room");
  for (BotPlayer* player : {&bob_, &cleo_}) {
    const auto state =
        must(player->wait_until([](const GameState& seen) { return !seen.o.has_value(); }),
             "see that Ann has left");
    expect(state.outcome == Outcome::Forfeit && state.winner == Mark::X,
           "whoever leaves in the middle of a round loses it");
  }
  say("  Ann walks out: Bob wins");
  expect_refusal(ann_.place(0), "tictactoe.PlaceMark is not possible in the lobby");
  must(ann_.join_room(room_), "join again");
  all_see("a new round", [](const GameState& state) {
    return state.round == 5 && state.phase == Phase::Playing && state.x->wins == 0;
  });
  say("  Ann is back: a new round begins");
}

void Demo::continue_elsewhere() {
  BotPlayer before = std::move(bob_);
  bob_ = before.on_another_page(port_of(2));
  must(bob_.log_in(), "log in from another page");
  must(before.wait_for<ReplacedNotify>(), "be told of the other connection");
  const auto after = before.wait_for<ReplacedNotify>();
  expect(!after && after.error().message().contains("4003"),
         "the connection that was replaced is closed as such");
  expect(bob_.mark() == Mark::X, "the new connection has the seat");
  play_moves({0, 4});
  say("  Bob continues on another page; the first one was told and closed");
}

void Demo::part() {
  for (BotPlayer* player : {&ann_, &bob_, &cleo_}) must(player->leave_room(), "leave the room");
  while (!must(cleo_.list_rooms(), "list the rooms").rooms.empty()) {
    must(cleo_.wait_for<RoomListNotify>(), "hear that the room is gone");
  }
  say("All have left, and the room is gone");
}

// ---- helpers ------------------------------------------------------------------------------------

void Demo::play_moves(std::initializer_list<int> cells) {
  for (const int cell : cells) {
    BotPlayer& player = mover();
    const Mark mark = player.mark();
    must(player.place(cell), fmt::format("{} places {}", player.name(), cell));
    all_see(fmt::format("{}'s move to cell {}", player.name(), cell), [&](const GameState& state) {
      return state.last_cell == cell && state.cells[static_cast<std::size_t>(cell)] == mark;
    });
    show_move(player.name(), cell, *player.state());
  }
}

void Demo::rematch() {
  const int round = ann_.state()->round + 1;
  const std::string former_x = name_at(ann_.state()->x);
  must(ann_.ask_rematch(), "ask for a rematch");
  must(bob_.wait_until([&](const GameState& state) {
    return (state.x->name == "Ann" ? state.x : state.o)->wants_rematch;
  }),
       "see that Ann wants a rematch");
  must(bob_.ask_rematch(), "accept the rematch");
  all_see("the rematch, sides swapped", [&](const GameState& state) {
    return state.round == round && state.phase == Phase::Playing && name_at(state.o) == former_x;
  });
}

BotPlayer& Demo::mover() {
  const GameState& state = *ann_.state();
  expect(state.phase == Phase::Playing, "a round is under way");
  return name_at(state.turn == Mark::X ? state.x : state.o) == "Ann" ? ann_ : bob_;
}

void Demo::all_see(std::string_view what, const BotPlayer::Wish& wish) {
  for (BotPlayer* player : {&ann_, &bob_, &cleo_}) {
    must(player->wait_until(wish), fmt::format("{} sees {}", player->name(), what));
  }
}

void Demo::expect_refusal(const Result<void>& result, std::string_view message) {
  expect(!result, fmt::format("'{}' was to be refused and was not", message));
  expect(result.error().kind() == spotmesh::ErrorKind::InvalidOperation &&
             result.error().message() == message,
         fmt::format("'{}' was answered by {}", message, to_string(result.error())));
  say(fmt::format("  refused: {}", message));
}

void Demo::show_move(const std::string& name, int cell, const GameState& state) const {
  say(fmt::format("  {:<4} {}   {} {} {}", name, cell, row_of(state, 0), row_of(state, 1),
                  row_of(state, 2)));
}

}  // namespace tictactoe

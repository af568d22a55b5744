// tictactoe-bot: plays in a room for ever, or shows whole matches (--demo).

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bots/bot_player.hpp"
#include "bots/demo.hpp"
#include "rules/strategy.hpp"

namespace {

using tictactoe::BotPlayer;
using tictactoe::GameState;
using tictactoe::Phase;

struct Arguments {
  std::vector<std::uint16_t> ports{8080};
  std::string name = "Robo";
  std::string room = "Bot";
  bool is_demo = false;
};

bool has_something_to_do(const BotPlayer& bot, const GameState& state) {
  if (bot.mark() == tictactoe::Mark::None) return false;
  if (state.phase == Phase::Playing) return state.turn == bot.mark();
  const auto& own = bot.mark() == tictactoe::Mark::X ? state.x : state.o;
  return state.phase == Phase::Finished && state.x && state.o && !own->wants_rematch;
}

// Opens the room, or joins it, and plays every round as well as it can be played.
spotmesh::Result<void> play(BotPlayer& bot, const std::string& room) {
  if (auto login = bot.log_in(); !login) return fail(login.error());
  if (!bot.state()) {
    if (auto opened = bot.open_room(room); !opened) return opened;
  }
  fmt::print("{} plays in '{}'\n", bot.name(), bot.state()->room);
  std::fflush(stdout);
  while (true) {
    const auto state =
        bot.wait_until([&bot](const GameState& seen) { return has_something_to_do(bot, seen); },
                       std::chrono::hours(24));
    if (!state) return fail(state.error());
    const auto done = state->phase == Phase::Playing ? bot.place(tictactoe::best_cell(*state))
                                                     : bot.ask_rematch();
    // The opponent may have left in this very moment; the next state says so.
    if (!done && done.error().kind() != spotmesh::ErrorKind::InvalidOperation) return done;
  }
}

int run(const Arguments& arguments) {
  if (arguments.is_demo) {
    tictactoe::Demo(arguments.ports, "Demo").play();
    fmt::print("the demo is over: everything was as the rules say\n");
    return 0;
  }
  BotPlayer bot(arguments.ports.front(), arguments.name);
  if (auto played = play(bot, arguments.room); !played) {
    fmt::print(stderr, "tictactoe-bot: {}\n", to_string(played.error()));
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "A player for TicTacToe that never loses.\nExample: tictactoe-bot --port 8080 "
      "--name Robo --room Den");
  app.add_option(
         "--port", arguments.ports,
         "where the server is on this machine; a demo may be given those of a cluster, with "
         "a comma between")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--name", arguments.name, "the bot's name")->capture_default_str();
  app.add_option("--room", arguments.room, "the room to open or to join")->capture_default_str();
  app.add_flag("--demo", arguments.is_demo,
               "play whole matches with three bots, print each move, and exit 0 if all is right");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tictactoe-bot: {}\n", error.what());
    return 1;
  }
}

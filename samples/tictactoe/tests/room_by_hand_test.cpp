// Two players in a room of TicTacToe: how a game tests by hand what it has thought of.
#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <spotmesh/testing/cluster.hpp>

#include "server/game.hpp"
#include "tictactoe.packets.hpp"

namespace {

using namespace std::chrono_literals;
using namespace spotmesh::testing;
using namespace tictactoe;
using spotmesh::Result;

class Person {
 public:
  Person(Cluster& cluster, const std::string& name)
      : cluster_(cluster), client_(cluster.connect().value()) {
    client_.on_push<GameStateNotify>([this](const GameStateNotify& push) { seen_ = push.state; });
    REQUIRE(ask<LoginResult>(Login{.name = name, .device_token = "device-token-of-" + name}));
  }

  // The answer, once virtual time has brought it.
  template <typename Reply, typename P>
  Result<Reply> ask(const P& packet) {
    std::optional<Result<Reply>> answer;
    client_.request<Reply>(packet, [&](Result<Reply> reply) { answer = std::move(reply); });
    REQUIRE(cluster_.run_until([&] { return answer.has_value(); }));
    return std::move(*answer);
  }
  GameState await(Phase phase, Mark turn) {
    REQUIRE(
        cluster_.run_until([&] { return seen_ && seen_->phase == phase && seen_->turn == turn; }));
    return *seen_;
  }

 private:
  Cluster& cluster_;
  SimStreamClient client_;
  std::optional<GameState> seen_;
};

// Ann has opened a room, and Bob has come; it is her turn.
struct Round {
  Round() {
    REQUIRE(ann.ask<Entering>(OpenRoom{.room = "den"}));
    ann.await(Phase::Waiting, Mark::None);
    REQUIRE(bob.ask<Entering>(JoinRoom{.room = "den"}));
    bob.await(Phase::Playing, Mark::X);
  }

  Cluster cluster{[](spotmesh::Application& app) { tictactoe::configure(app); }};
  Person ann{cluster, "ann"};
  Person bob{cluster, "bob"};
};

}  // namespace

TEST_CASE("a move is shown to both, and nobody moves twice in a row") {
  Round round;
  REQUIRE(round.ann.ask<PlaceMarkResult>(PlaceMark{.cell = 4}));
  CHECK(round.ann.await(Phase::Playing, Mark::O).cells[4] == Mark::X);
  CHECK(round.bob.await(Phase::Playing, Mark::O).cells[4] == Mark::X);

  const auto again = round.ann.ask<PlaceMarkResult>(PlaceMark{.cell = 0});
  REQUIRE_FALSE(again);
  CHECK(again.error().message() == "it is bob's turn");
  CHECK(round.cluster.violations().empty());
}

TEST_CASE("who does not move in time loses the round") {
  Round round;
  round.cluster.run_for(1min);  // of virtual time: it takes a few milliseconds
  const GameState end = round.bob.await(Phase::Finished, Mark::None);
  CHECK(end.outcome == Outcome::Timeout);
  CHECK(end.winner == Mark::O);
  CHECK(round.cluster.violations().empty());
}

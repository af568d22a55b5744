// Whole nodes that speak to each other.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include <spotmesh/testing/cluster.hpp>

#include "counter_game.hpp"

using namespace std::chrono_literals;
using spotmesh::ErrorKind;
using spotmesh::Result;
using spotmesh::testing::Cluster;
using spotmesh::testing::SimStreamClient;

namespace {

struct Game {
  explicit Game(std::uint64_t seed = 1)
      : cluster([](spotmesh::Application& app) { counter::configure(app); },
                {.seed = seed, .nodes = 2}) {}

  SimStreamClient connect(unsigned node) {
    auto client = cluster.connect(node);
    REQUIRE(client.has_value());
    return std::move(*client);
  }
  template <typename Reply, typename P>
  Result<Reply> ask(SimStreamClient& client, const P& packet) {
    std::optional<Result<Reply>> answer;
    client.request<Reply>(packet, [&](Result<Reply> reply) { answer = std::move(reply); });
    const bool is_answered = cluster.run_until([&] { return answer.has_value(); });
    INFO(cluster.trace());
    REQUIRE(is_answered);
    return std::move(*answer);
  }
  Result<counter::Pressed> press_for(SimStreamClient& client, const std::string& name) {
    return ask<counter::Pressed>(client, counter::PressFor{.name = name});
  }

  Cluster cluster;
};

}  // namespace

TEST_CASE("a session speaks to an Actor of another node as to one of its own", "[MSG-01]") {
  const auto seed = GENERATE(1U, 2U, 3U);
  Game game(seed);
  auto ann = game.connect(0);
  REQUIRE(game.ask<counter::Entered>(ann, counter::Enter{.name = "ann"}).has_value());
  auto bob = game.connect(1);
  for (int count = 1; count <= 5; ++count) {
    auto pressed = game.press_for(count % 2 == 0 ? ann : bob, "ann");
    INFO((pressed ? std::string() : to_string(pressed.error())));
    REQUIRE(pressed.has_value());
    CHECK(pressed->count == count);
  }
  CHECK(game.press_for(bob, "nobody").error().kind() == ErrorKind::NotFound);
  REQUIRE(game.cluster.stop(0));
  // A clean stop frees its ids at once, and its peers know that the run is over.
  const auto gone = game.press_for(bob, "ann");
  REQUIRE_FALSE(gone.has_value());
  CHECK((gone.error().kind() == ErrorKind::NotFound ||
         gone.error().kind() == ErrorKind::Unavailable));
  CHECK(game.press_for(bob, "ann").error().kind() == ErrorKind::NotFound);
  CHECK(game.cluster.violations().empty());
}

TEST_CASE("a node that dies takes its Actors out of reach, and its next run is another peer",
          "[LOSS-01][MESH-02]") {
  Game game;
  auto ann = game.connect(0);
  REQUIRE(game.ask<counter::Entered>(ann, counter::Enter{.name = "ann"}).has_value());
  auto bob = game.connect(1);
  REQUIRE(game.press_for(bob, "ann").has_value());
  game.cluster.restart(0);
  REQUIRE(game.cluster.run_until([&] { return game.cluster.is_serving(0); }));
  game.cluster.run_for(40s);
  CHECK(game.press_for(bob, "ann").error().kind() == ErrorKind::Unavailable);
  auto again = game.connect(0);
  REQUIRE(game.ask<counter::Entered>(again, counter::Enter{.name = "ann"}).has_value());
  auto pressed = game.press_for(bob, "ann");
  INFO((pressed ? std::string() : to_string(pressed.error())));
  REQUIRE(pressed.has_value());
  CHECK(pressed->count == 1);
}

TEST_CASE("a run of two nodes that speak to each other is the same from the same seed") {
  const auto hash = [](std::uint64_t seed) {
    Game game(seed);
    auto ann = game.connect(0);
    REQUIRE(game.ask<counter::Entered>(ann, counter::Enter{.name = "ann"}).has_value());
    auto bob = game.connect(1);
    for (int i = 0; i < 3; ++i) REQUIRE(game.press_for(bob, "ann").has_value());
    REQUIRE(game.cluster.stop(0));
    return game.cluster.trace_hash();
  };
  CHECK(hash(5) == hash(5));
  CHECK(hash(5) != hash(6));
}

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/testing/cluster.hpp>

#include "counter_game.hpp"

using namespace std::chrono_literals;
using spotmesh::ErrorKind;
using spotmesh::Result;
using spotmesh::testing::Cluster;
using spotmesh::testing::SimStreamClient;

namespace {

SimStreamClient connect(Cluster& cluster, unsigned node = 0) {
  auto client = cluster.connect(node);
  REQUIRE(client.has_value());
  return std::move(*client);
}

void game(spotmesh::Application& app) { counter::configure(app); }

// The answer, once virtual time has brought it.
template <typename Reply, typename P>
Result<Reply> ask(Cluster& cluster, SimStreamClient& client, const P& packet) {
  std::optional<Result<Reply>> answer;
  client.request<Reply>(packet, [&](Result<Reply> reply) { answer = std::move(reply); });
  INFO(cluster.trace());
  REQUIRE(cluster.run_until([&] { return answer.has_value(); }));
  return std::move(*answer);
}

counter::Entered enter(Cluster& cluster, SimStreamClient& client, const std::string& name) {
  auto entered = ask<counter::Entered>(cluster, client, counter::Enter{.name = name});
  REQUIRE(entered.has_value());
  return *entered;
}

std::int32_t press(Cluster& cluster, SimStreamClient& client) {
  auto pressed = ask<counter::Pressed>(cluster, client, counter::Press{});
  REQUIRE(pressed.has_value());
  return pressed->count;
}

std::uint64_t hash_of_a_short_game(std::uint64_t seed) {
  Cluster cluster(game, {.seed = seed});
  auto client = connect(cluster);
  enter(cluster, client, "ann");
  for (int i = 0; i < 5; ++i) press(cluster, client);
  REQUIRE(cluster.stop(0));
  return cluster.trace_hash();
}

}  // namespace

TEST_CASE("a client's packets reach its Actor, and a reconnect finds the same one", "[BIND-13]") {
  Cluster cluster(game);
  auto first = connect(cluster);
  CHECK(enter(cluster, first, "ann").is_new);
  CHECK(press(cluster, first) == 1);
  CHECK(press(cluster, first) == 2);
  first.hang_up();
  auto second = connect(cluster);
  CHECK_FALSE(enter(cluster, second, "ann").is_new);
  CHECK(press(cluster, second) == 3);
  CHECK(cluster.violations().empty());
}

TEST_CASE("two runs of one seed are equal and other seeds differ") {
  CHECK(hash_of_a_short_game(7) == hash_of_a_short_game(7));
  CHECK(hash_of_a_short_game(7) != hash_of_a_short_game(8));
}

TEST_CASE("nodes on one store place on themselves only, and an id lives once") {
  Cluster cluster(game, {.nodes = 2});
  auto here = connect(cluster, 0);
  auto there = connect(cluster, 1);
  const auto ann = enter(cluster, here, "ann");
  const auto bob = enter(cluster, there, "bob");
  CHECK(ann.node != bob.node);
  // Without links between nodes a foreign Actor cannot be reached; it is never made a second time.
  const auto refused = ask<counter::Entered>(cluster, there, counter::Enter{.name = "ann"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::Unavailable);
  CHECK(press(cluster, here) == 1);
}

TEST_CASE("an orderly stop frees every id at once", "[DESTROY-01]") {
  Cluster cluster(game, {.nodes = 2});
  auto here = connect(cluster, 0);
  enter(cluster, here, "ann");
  REQUIRE(cluster.stop(0));
  REQUIRE(here.close_seen().has_value());
  CHECK(here.close_seen()->code == 1001);
  auto there = connect(cluster, 1);
  CHECK(enter(cluster, there, "ann").is_new);
}

TEST_CASE("a crashed node's ids come back once its lease has been fenced", "[LOSS-02]") {
  Cluster cluster(game, {.nodes = 2});
  auto here = connect(cluster, 0);
  enter(cluster, here, "ann");
  cluster.crash(0);
  auto there = connect(cluster, 1);
  const auto too_early = ask<counter::Entered>(cluster, there, counter::Enter{.name = "ann"});
  REQUIRE_FALSE(too_early.has_value());
  CHECK(too_early.error().kind() == ErrorKind::Unavailable);
  // Seen for the first time now, the beat must stand still for TTL + margin.
  cluster.run_for(25s);
  CHECK(enter(cluster, there, "ann").is_new);
}

TEST_CASE("turns stop when the store is away past the lease, and go on by themselves",
          "[STORE-09]") {
  Cluster cluster(game);
  auto client = connect(cluster);
  enter(cluster, client, "ann");
  cluster.set_store_available(false);
  CHECK(press(cluster, client) == 1);
  cluster.run_for(60s);
  const auto refused = ask<counter::Pressed>(cluster, client, counter::Press{});
  CHECK_FALSE(refused.has_value());
  cluster.set_store_available(true);
  cluster.run_for(30s);
  CHECK(press(cluster, client) >= 2);
  cluster.set_store_available(false);
  CHECK(cluster.stop(0));
}

TEST_CASE("creations of one id at the same moment make one object, whatever the store's delays",
          "[CREATE-07]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    unsigned made = 0;
    Cluster cluster([&made](spotmesh::Application& app) { counter::configure(app, &made); },
                    {.seed = seed, .longest_store_latency = 400ms});
    std::vector<SimStreamClient> clients;
    unsigned created = 0;
    unsigned answered = 0;
    for (int i = 0; i < 4; ++i) clients.push_back(connect(cluster));
    for (auto& client : clients) {
      client.request<counter::Entered>(counter::Enter{.name = "ann"},
                                       [&](const Result<counter::Entered>& reply) {
                                         ++answered;
                                         if (reply && reply->is_new) ++created;
                                       });
    }
    INFO("seed " << seed << "\n" << cluster.trace());
    REQUIRE(cluster.run_until([&] { return answered == clients.size(); }));
    REQUIRE(created == 1);
    REQUIRE(made == 1);
    REQUIRE(cluster.stored_objects().size() == 2);  // the Entry Spot and the Actor
  }
}

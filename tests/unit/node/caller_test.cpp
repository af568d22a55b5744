// Callers on nodes without clients, and where what they create is made.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>
#include <spotmesh/testing/cluster.hpp>

#include "counter_game.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;
using spotmesh::testing::Cluster;
using spotmesh::testing::SimCaller;

namespace {

void game(Application& app) { counter::configure_objects(app); }

SimCaller caller_of(Cluster& cluster, unsigned node) {
  auto caller = cluster.caller(node);
  REQUIRE(caller.has_value());
  return std::move(*caller);
}

// The nodes on which ten Actors come to live that node 0 creates.
std::set<std::string> homes(Cluster& cluster) {
  // Until everybody has seen everybody.
  cluster.run_for(5s);
  SimCaller caller = caller_of(cluster, 0);
  std::set<std::string> homes;
  for (int i = 0; i < 10; ++i) {
    caller.run([&homes, name = "a" + std::to_string(i)](Context& context) -> Task<void> {
      const auto made = co_await context.actors().create(name, "player").submit();
      if (made) homes.insert(std::get<Created>(*made).actor.node_rid.text);
    });
  }
  REQUIRE(cluster.run_until([&] { return caller.unfinished() == 0; }));
  return homes;
}

}  // namespace

TEST_CASE("without a gateway a cluster's nodes create where placement says", "[PLACE-02]") {
  Cluster cluster(game, {.nodes = 2});
  CHECK(homes(cluster).size() == 2);
  CHECK(cluster.violations_at_rest().empty());
}

TEST_CASE("a cluster's nodes create at home when they are told to") {
  Cluster cluster(game, {.nodes = 2, .creates_here = true});
  CHECK(homes(cluster).size() == 1);
}

TEST_CASE("a caller's calls run one after the other on his node, until its process ends") {
  Cluster cluster(game, {.nodes = 2});
  SimCaller caller = caller_of(cluster, 1);
  std::string order;
  for (const char name : {'a', 'b', 'c'}) {
    caller.run([&order, name](Context& context) -> Task<void> {
      order += name;
      (void)co_await context.actors().find(std::string(1, name));
      order += name;
    });
  }
  REQUIRE(cluster.run_until([&] { return caller.unfinished() == 0; }));
  CHECK(order == "aabbcc");

  // Of what waits when the process ends nothing goes on, and what it held is let go of.
  const auto held = std::make_shared<int>(0);
  bool has_ended = false;
  caller.run([held, &has_ended](Context& context) -> Task<void> {
    const auto kept = held;
    (void)co_await context.actors().find("x");
    has_ended = true;
  });
  CHECK(cluster.run_until([&] { return held.use_count() == 3; }));
  cluster.crash(1);
  CHECK(caller.is_gone());
  CHECK(caller.unfinished() == 0);
  CHECK(held.use_count() == 1);
  caller.run([&has_ended](Context&) -> Task<void> {
    has_ended = true;
    co_return;
  });
  cluster.run_for(1s);
  CHECK_FALSE(has_ended);
  CHECK(cluster.caller(1).error().kind() == ErrorKind::NotFound);
}

// What those who are turned away leave behind, as a simulated test.
#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <spotmesh/spotmesh.hpp>
#include <spotmesh/testing/cluster.hpp>

using namespace spotmesh;
using namespace std::chrono_literals;
using testing::Cluster;

namespace {

class Stranger final : public Actor {
 public:
  using Actor::Actor;
};

// A hall that takes nobody.
class ClosedHall final : public EntrySpot<Stranger> {
 public:
  using EntrySpot::EntrySpot;
  Task<CreateDecision> on_create_actor(Stranger&, const Message&) override {
    co_return CreateDecision::reject();
  }
};

void configure(Application& app) {
  auto& mesh = app.mesh("closed").object_server();
  mesh.entry_spot<ClosedHall>([](auto& factory) {
    factory.create_with([](SpotContext& context) { return std::make_unique<ClosedHall>(context); });
  });
  mesh.actor<Stranger>("stranger", [](auto& factory) {
    factory.disable_relocation().create_with(
        [](ActorContext& context) { return std::make_unique<Stranger>(context); });
  });
}

// Knocks under a thousand new names, ten of them at a time.
int turned_away(Cluster& cluster, unsigned node) {
  int rejected = 0;
  int ended = 0;
  std::vector<testing::SimCaller> callers;
  for (int first = 0; first < 1000; first += 100) {
    auto caller = cluster.caller(node);
    REQUIRE(caller.has_value());
    callers.push_back(*std::move(caller));
    callers.back().run([&, first](Context& context) -> Task<void> {
      for (int i = first; i < first + 100; ++i) {
        const auto made =
            co_await context.actors().create(fmt::format("name-{}", i), "stranger").submit();
        rejected += made && std::holds_alternative<Rejected>(*made) ? 1 : 0;
      }
      ++ended;
    });
  }
  REQUIRE(cluster.run_until([&] { return ended == 10; }));
  return rejected;
}

}  // namespace

TEST_CASE("a thousand rejected creations leave nothing in the store six minutes later",
          "[CREATE-12]") {
  for (const unsigned nodes : {1u, 3u}) {
    Cluster cluster(configure, {.seed = nodes, .nodes = nodes});
    cluster.run_for(5s);
    const auto before = cluster.stored_objects();
    CHECK(turned_away(cluster, 0) == 1000);
    CHECK(cluster.stored_objects().size() == before.size() + 1000);
    cluster.run_for(6min);
    CHECK(cluster.stored_objects() == before);
    CHECK(cluster.violations() == std::vector<std::string>{});
  }
}

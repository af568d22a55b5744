// What stops the start of a node before anything of it exists.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include <spotmesh/spotmesh.hpp>

#include "counter_game.hpp"
#include "node/node.hpp"
#include "objects/frozen_application.hpp"
#include "testing/sim_network.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"

using namespace spotmesh;
using Catch::Matchers::Contains;

TEST_CASE("an application with an object role does not start without a Location Store",
          "[STORE-01]") {
  const bool is_client = GENERATE(false, true);
  Application app;
  app.packets(counter::packets());
  if (is_client) {
    app.mesh("play").object_client();
  } else {
    app.mesh("play").object_server().entry_spot<counter::Hall>();
  }
  const objects::FrozenApplication frozen(app);
  testing::SimWorld world;
  testing::SimNetwork network(world);
  testing::SimNode& seams = world.add_node("one");
  const auto transport = network.attach(seams);
  node::World given{.clock = seams.clock(),
                    .scheduler = seams.scheduler(),
                    .timers = seams.timers(),
                    .workers = seams.workers(),
                    .random = seams.random(),
                    .log = seams.log(),
                    .events = seams.events(),
                    .transport = transport.get()};
  node::NodeOptions options;
  options.mesh.secret = "open sesame";
  std::string refusal;
  try {
    const node::Node refused(frozen, given, options);
  } catch (const ConfigurationError& error) {
    refusal = error.what();
  }
  CHECK_THAT(refusal, Contains("no Location Store") && Contains("location.store"));
  // Nothing else was missing.
  testing::SimStore store(world, world.random("store"));
  const auto client = store.connect("one");
  given.store = client.get();
  const node::Node accepted(frozen, given, options);
  CHECK(accepted.state() == node::NodeState::Idle);
}

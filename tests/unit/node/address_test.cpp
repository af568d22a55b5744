// A node that others cannot reach under the address that it gives them.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "counter_game.hpp"
#include "location/keys.hpp"
#include "node/node.hpp"
#include "objects/frozen_application.hpp"
#include "testing/sim_network.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using node::NodeState;

namespace {

struct CounterServer {
  CounterServer() {
    app.packets(counter::packets());
    app.mesh("play").object_server().entry_spot<counter::Hall>();
  }
  Application app;
};

// One node of a network, which says that others reach it at `address`.
struct Server {
  explicit Server(std::string address)
      : node(frozen,
             {.clock = seams.clock(),
              .scheduler = seams.scheduler(),
              .timers = seams.timers(),
              .workers = seams.workers(),
              .random = seams.random(),
              .log = seams.log(),
              .events = seams.events(),
              .store = client.get(),
              .transport = transport.get()},
             {.mesh = {.secret = "open sesame",
                       .listen_address = "one:1",
                       .advertised_address = std::move(address)}}) {
    node.start([this](Result<void> result) { started = std::move(result); });
  }
  ~Server() {
    if (!is_stopped) node.abandon();
    seams.end();
  }
  void run_until(const std::function<bool()>& condition) {
    REQUIRE(world.run_until(condition, 60s) == testing::SimOutcome::Done);
  }
  void stop() {
    node.stop(5s, [this] { is_stopped = true; });
    run_until([this] { return is_stopped; });
  }
  std::size_t records() { return store.contents(location::keys::all_prefix).size(); }

  CounterServer server;
  objects::FrozenApplication frozen{server.app};
  testing::SimWorld world;
  testing::SimNetwork network{world};
  testing::SimStore store{world, world.random("store")};
  std::unique_ptr<testing::SimStore::Client> client = store.connect("one");
  testing::SimNode& seams = world.add_node("one");
  std::unique_ptr<testing::SimTransport> transport = network.attach(seams);
  std::optional<Result<void>> started;
  bool is_stopped = false;
  node::Node node;
};

}  // namespace

TEST_CASE("an address that leads to the node is what it gives the others") {
  Server server(GENERATE(as<std::string>(), "", "one:1"));
  server.run_until([&] { return server.started.has_value(); });
  REQUIRE(server.started->has_value());
  CHECK(server.node.state() == NodeState::Serving);
  server.stop();
}

TEST_CASE("a start ends with the address that does not lead to the node, and leaves no record") {
  Server server("far:1");
  server.run_until([&] { return server.started.has_value(); });
  REQUIRE_FALSE(server.started->has_value());
  CHECK(server.started->error().kind() == ErrorKind::Unavailable);
  CHECK_THAT(server.started->error().message(), Contains("'far:1'"));
  CHECK(server.node.state() == NodeState::Error);
  CHECK(server.records() == 0);
  server.stop();
}

TEST_CASE("a node stops while it still looks for itself at its address") {
  Server server("far:1");
  server.world.run_for(2s);
  REQUIRE_FALSE(server.started.has_value());
  server.stop();
  CHECK(server.node.state() == NodeState::Stopped);
  REQUIRE(server.started.has_value());
  CHECK(server.started->error().kind() == ErrorKind::ShuttingDown);
  CHECK(server.records() == 0);
}

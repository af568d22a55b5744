// The mesh of a test's nodes: real sessions over a simulated network.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "mesh/mesh_node.hpp"
#include "objects/objects_node.hpp"
#include "testing/sim_network.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::objects {

// Where what a test creates is made, on linked nodes. Tests that are not about placement want to
// know.
enum class Made : std::uint8_t { Here, WherePlaced };

inline ObjectsConfig making(ObjectsConfig config, Made made) {
  config.creates_here = made == Made::Here;
  return config;
}

// One run's sessions with the others.
class TestLink {
 public:
  TestLink(testing::SimNetwork& network, testing::SimNode& sim, ObjectsNode& node,
           mesh::MeshOptions options)
      : node_(node),
        transport_(network.attach(sim)),
        mesh_({node.identity().rid, node.identity().lifecycle}, std::move(options),
              mesh::MeshSeams{.clock = sim.clock(),
                              .scheduler = sim.scheduler(),
                              .timers = sim.timers(),
                              .transport = *transport_,
                              .random = sim.random(),
                              .log = sim.log(),
                              .events = sim.events(),
                              .addresses = node.addresses(),
                              .handler = node.peer_handler(),
                              .faults = &sim.faults()}) {
    node.set_peers(mesh_);
  }

  void start() {
    auto bound = mesh_.start();
    REQUIRE(bound.has_value());
    node_.set_advertised_address(*bound);
  }
  void stop(testing::SimWorld& world) {
    bool is_stopped = false;
    mesh_.stop(std::chrono::seconds(1), [&] { is_stopped = true; });
    REQUIRE(world.run_until([&] { return is_stopped; }, std::chrono::seconds(60)) ==
            testing::SimOutcome::Done);
  }
  void crash() {
    mesh_.abandon();
    transport_.reset();
  }
  mesh::MeshNode& mesh() { return mesh_; }

 private:
  ObjectsNode& node_;
  std::unique_ptr<testing::SimTransport> transport_;
  mesh::MeshNode mesh_;
};

}  // namespace spotmesh::objects

// What the nodes of a test share.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include <spotmesh/time.hpp>

#include "testing/sim_network.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::objects {

// A world with one store and one network; nodes are added by the test.
struct TestWorld {
  explicit TestWorld(std::uint64_t seed = 1) : world({.seed = seed}) {}
  ~TestWorld() {
    for (const std::string& violation : world.violations()) FAIL_CHECK(violation);
  }
  void run_for(Duration span) { REQUIRE(world.run_for(span) == testing::SimOutcome::Done); }

  testing::SimWorld world;
  testing::SimStore store{world, world.random("store")};
  testing::SimNetwork network{world};
};

}  // namespace spotmesh::objects

// Taking a node's lease away, as another node does.
#pragma once

#include <catch2/catch.hpp>

#include "fixture.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/lease_driver.hpp"

namespace spotmesh::objects {

// As if another node had found it silent for too long.
inline void fence(TestWorld& sim, TestNode& node) {
  const location::LeaseView& view = node.core().lease->view();
  const auto other = sim.store.connect("other");
  bool is_done = false;
  other->commit({.epoch = {},
                 .conditions = {},
                 .writes = {{location::keys::lease(view.stamp->owner),
                             encode(location::LeaseRecord{
                                 .stamp = *view.stamp, .state = location::LeaseState::Fenced})}}},
                [&](const location::CommitResult&) { is_done = true; });
  REQUIRE(sim.world.run_until([&] { return is_done; }, 60s) == testing::SimOutcome::Done);
}

}  // namespace spotmesh::objects

// FencedRun: a run that was fenced before the nodes of a test came, of which only the store knows.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "location/keys.hpp"
#include "location/records.hpp"
#include "mesh/peers.hpp"
#include "test_world.hpp"

namespace spotmesh::objects {

struct FencedRun {
  explicit FencedRun(TestWorld& world) : sim(world) {
    write(location::keys::lease(stamp.owner),
          encode(location::LeaseRecord{stamp, location::LeaseState::Fenced}));
  }
  // Into the store, as if it had done so in time.
  void write(std::string key, Bytes value) {
    bool is_written = false;
    client->commit({.epoch = {}, .conditions = {}, .writes = {{std::move(key), std::move(value)}}},
                   [&](const location::CommitResult& result) {
                     is_written = result.outcome == location::CommitResult::Outcome::Ok;
                   });
    REQUIRE(sim.world.run_until([&] { return is_written; }, std::chrono::seconds(5)) ==
            testing::SimOutcome::Done);
  }
  // Its Actor of that id.
  void own_actor(const ActorId& id, const StableType& type) {
    write(location::keys::actor(id),
          encode(location::AuthorityRecord{.state = location::AuthorityState::Ready,
                                           .kind = location::ObjectKind::Actor,
                                           .stable_type = type,
                                           .object_generation = {(std::uint64_t{1} << 32) | 1},
                                           .owner_generation = {1},
                                           .takeover_count = 0,
                                           .owner = stamp,
                                           .mesh = "play",
                                           .reservation = {3, 4},
                                           .membership = {},
                                           .terminals = {}}));
  }
  mesh::Peer peer() const { return {stamp.rid, stamp.lifecycle}; }

  TestWorld& sim;
  std::unique_ptr<testing::SimStore::Client> client = sim.store.connect("a run of old");
  location::OwnerStamp stamp{.owner = *location::OwnerId::parse("ghost-1"),
                             .lease_generation = {1},
                             .rid = {"ghost-1"},
                             .lifecycle = {8, 9}};
};

}  // namespace spotmesh::objects

// Ending an object whose commit is refused: what that says of the node, and what of the object.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "checks.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/capacity.hpp"
#include "objects/destructions.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;

namespace {

// Anna and the room "red" of one node, and somebody who writes to the store behind its back.
struct Ending {
  OneNode one;
  ActorRef anna = one->born("anna", "pawn");
  SpotRef red = one->room("red", "room");
  std::unique_ptr<testing::SimStore::Client> other = one.sim.store.connect("other");

  static std::string key_of_anna() { return location::keys::actor(*ActorId::parse("anna")); }
  static std::string key_of_red() { return location::keys::spot(*SpotId::parse("red")); }
  std::string lease_key() {
    return location::keys::lease(*location::OwnerId::parse(one->core().identity.rid.text));
  }
  std::optional<Bytes> get(const std::string& key) {
    for (const auto& entry : one.sim.store.contents(key)) {
      if (entry.key == key) return entry.stored.value;
    }
    return {};
  }
  void put(const std::string& key, std::optional<Bytes> value) {
    bool is_done = false;
    other->commit({.epoch = {}, .conditions = {}, .writes = {{key, std::move(value)}}},
                  [&](location::CommitResult result) {
                    REQUIRE(result.outcome == location::CommitResult::Outcome::Ok);
                    is_done = true;
                  });
    REQUIRE(one.sim.world.run_until([&] { return is_done; }, 5s) == testing::SimOutcome::Done);
  }
  location::AuthorityRecord record(const std::string& key) {
    return *location::decode_authority(key, get(key).value());
  }
  void fence() {
    auto lease = *location::decode_lease(lease_key(), get(lease_key()).value());
    lease.state = location::LeaseState::Fenced;
    put(lease_key(), encode(lease));
  }
  Capacity::Usage actors() {
    return one->core().capacity->actors(*one->core().application.find_mesh("play"));
  }
  // Straight on the strand, since a turn of a fenced node never comes back.
  template <typename Ref>
  std::shared_ptr<std::optional<Result<bool>>> begin(const Ref& ref, Duration within = 5s) {
    auto ended = std::make_shared<std::optional<Result<bool>>>();
    Core& core = one->core();
    core.strand.post([&core, ref, within, ended] {
      const auto done = [ended](Result<bool> result) { *ended = std::move(result); };
      if constexpr (std::is_same_v<Ref, ActorRef>) {
        core.destructions->destroy(ref, core.now() + within, done);
      } else {
        core.destructions->close(ref, core.now() + within, done);
      }
    });
    return ended;
  }
  Result<bool> finish(const std::shared_ptr<std::optional<Result<bool>>>& ended) {
    REQUIRE(one.sim.world.run_until([&] { return ended->has_value(); }, 60s) ==
            testing::SimOutcome::Done);
    return **ended;
  }
};

}  // namespace

TEST_CASE("a destroy and a close that meet a fence are Unavailable, and say nothing of the object",
          "[DESTROY-02][STORE-06][RACE-05]") {
  Ending ending;
  ending.fence();
  const auto destroyed = ending.begin(ending.anna);
  const auto closed = ending.begin(ending.red);
  check_error(ending.finish(destroyed), ErrorKind::Unavailable, "lease");
  check_error(ending.finish(closed), ErrorKind::Unavailable, "lease");
  // Neither is the record touched, and the node learns what has become of it.
  CHECK(ending.get(ending.key_of_anna()).has_value());
  CHECK(ending.get(ending.key_of_red()).has_value());
  REQUIRE(ending.one.sim.world.run_until([&] { return ending.one->fenced_with.has_value(); },
                                         60s) == testing::SimOutcome::Done);
}

TEST_CASE("a destroy under way when the store forgets goes through after the quiet time",
          "[DESTROY-02][RACE-01][STORE-08]") {
  Ending ending;
  ending.one.run_for(1s);
  const auto destroyed = ending.begin(ending.anna);
  const auto closed = ending.begin(ending.red);
  REQUIRE(ending.one.sim.world.run_until(
              [&] {
                return ending.one.sim.world.trace().text().find("spot.closing") !=
                       std::string::npos;
              },
              1s) == testing::SimOutcome::Done);
  ending.one.sim.store.fail_over(0s);
  check_error(ending.finish(destroyed), ErrorKind::Unavailable, "new epoch");
  check_error(ending.finish(closed), ErrorKind::Unavailable, "new epoch");
  // Nothing but re-assertions is written for the lease's time and the margin.
  ending.one.run_for(15s);
  CHECK(ending.get(ending.key_of_anna()).has_value());
  CHECK(ending.get(ending.key_of_red()).has_value());
  // It goes on by itself.
  ending.one.run_for(15s);
  CHECK_FALSE(ending.get(ending.key_of_anna()).has_value());
  CHECK_FALSE(ending.get(ending.key_of_red()).has_value());
  CHECK(ending.actors().total() == 0);
}

TEST_CASE("in the quiet time of a new epoch nothing is ended, and all goes on serving",
          "[RACE-01][STORE-08]") {
  Ending ending;
  ending.one.run_for(1s);
  ending.one.sim.store.fail_over(0s);
  ending.one.run_for(6s);
  check_error(ending.one->destroy(ending.anna), ErrorKind::Unavailable, "new epoch");
  check_error(ending.one->close(ending.red), ErrorKind::Unavailable, "new epoch");
  CHECK(ending.one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}

TEST_CASE("a destroy whose record has another version reads it again first",
          "[DESTROY-01][DESTROY-02][DESTROY-03]") {
  Ending ending;
  auto record = ending.record(ending.key_of_anna());
  SECTION("the same incarnation is destroyed") {
    ending.put(ending.key_of_anna(), encode(record));
    CHECK(ending.finish(ending.begin(ending.anna)) == true);
    CHECK_FALSE(ending.get(ending.key_of_anna()).has_value());
  }
  SECTION("one that is gone gives false") {
    ending.put(ending.key_of_anna(), std::nullopt);
    CHECK(ending.finish(ending.begin(ending.anna)) == false);
  }
  SECTION("another incarnation is left alone") {
    record.object_generation.value += 1;
    ending.put(ending.key_of_anna(), encode(record));
    check_error(ending.finish(ending.begin(ending.anna)), ErrorKind::InvalidOperation,
                "generation");
    CHECK(ending.record(ending.key_of_anna()) == record);
  }
  CHECK(ending.actors().total() == 0);
}

TEST_CASE("a close whose record has another version reads it again first", "[CB-10]") {
  Ending ending;
  auto record = ending.record(ending.key_of_red());
  SECTION("the same incarnation is closed") {
    ending.put(ending.key_of_red(), encode(record));
    CHECK(ending.finish(ending.begin(ending.red)) == true);
  }
  SECTION("one that is gone gives false") {
    ending.put(ending.key_of_red(), std::nullopt);
    CHECK(ending.finish(ending.begin(ending.red)) == false);
  }
  SECTION("another incarnation is left alone") {
    record.object_generation.value += 1;
    ending.put(ending.key_of_red(), encode(record));
    check_error(ending.finish(ending.begin(ending.red)), ErrorKind::InvalidOperation, "generation");
    CHECK(ending.record(ending.key_of_red()) == record);
  }
}

TEST_CASE("a node that stops deletes what is its own, also beside a record that is not any more",
          "[DESTROY-03]") {
  Ending ending;
  auto record = ending.record(ending.key_of_anna());
  record.object_generation.value += 1;
  ending.put(ending.key_of_anna(), encode(record));
  ending.one->stop();
  CHECK(ending.record(ending.key_of_anna()) == record);
  CHECK(ending.one.sim.store.contents("spotmesh/spot/").empty());
}

TEST_CASE("an Actor that lives again before the end of the former one is answered stays",
          "[DESTROY-01][CREATE-01]") {
  Ending ending;
  // The store carries the removal out at once, and says so late.
  const auto destroyed = ending.begin(ending.anna, 60s);
  const auto is_removed = [&] { return !ending.get(ending.key_of_anna()).has_value(); };
  ending.one.sim.store.behavior().strays_per_mille = 1000;
  REQUIRE(ending.one.sim.world.run_until(is_removed, 60s) == testing::SimOutcome::Done);
  REQUIRE_FALSE(destroyed->has_value());
  ending.one.sim.store.behavior().strays_per_mille = 0;
  const ActorRef again = ending.one->born("anna", "pawn");
  CHECK_FALSE(destroyed->has_value());
  CHECK(ending.finish(destroyed) == true);
  CHECK(ending.one->find("anna") == again);
  CHECK(ending.one->send("anna", probe::Note{}).has_value());
  CHECK(ending.actors().active == 1);
}

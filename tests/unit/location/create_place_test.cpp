// A creation that chooses its place: the rows of Placing and Elsewhere of
// framework/docs/creation.md.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "location/create.hpp"
#include "sample_records.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Kind = spotmesh::location::CreateOutcome::Kind;

namespace {

TestNode::Script placed(create::Event where) {
  return {.place = [where = std::move(where)] { return where; }};
}

}  // namespace

TEST_CASE("a free id is made here when this node is chosen", "[CREATE-01]") {
  AcquaintedCluster cluster(1);
  const Creation& creation = cluster.finish(cluster[0].create("x", placed(create::PlacedHere{})));
  CHECK(creation.is(Kind::Created));
  CHECK(creation.placings == 1);
  CHECK(creation.factory_runs == 1);
}

TEST_CASE("an id that lives is answered for before any place is chosen",
          "[CREATE-02][CREATE-03][CREATE-04]") {
  AcquaintedCluster cluster(2);
  cluster.finish(cluster[0].create("x", {}));
  auto script = placed(create::PlacedElsewhere{});
  const Creation& create = cluster.finish(cluster[1].create("x", script));
  CHECK(create.failed_with(ErrorKind::AlreadyExists));
  script.is_get_or_create = true;
  const Creation& get = cluster.finish(cluster[1].create("x", script));
  CHECK(get.is(Kind::Existing));
  script.type = "monster";
  const Creation& other = cluster.finish(cluster[1].create("x", script));
  CHECK(other.failed_with(ErrorKind::TypeMismatch));
  CHECK(create.placings + get.placings + other.placings == 0);
}

TEST_CASE("while another node is asked nothing runs out here", "[DURABLE-07]") {
  AcquaintedCluster cluster(1);
  const Creation& creation = cluster[0].create("x", placed(create::PlacedElsewhere{}));
  cluster.time.run_for(60s);
  CHECK(creation.answers == 0);
  CHECK_FALSE(creation.is_done);
  CHECK_FALSE(cluster.record("x").has_value());
  SECTION("it has answered") {
    cluster[0].tell(creation, create::EndedElsewhere{});
    CHECK(creation.is_done);
    CHECK(creation.answers == 0);
  }
  SECTION("this node stops") {
    cluster[0].stop_creations();
    CHECK(creation.answers == 0);
    CHECK_FALSE(creation.is_done);
  }
}

TEST_CASE("an object that another node cannot take may be made here after all", "[PLACE-04]") {
  AcquaintedCluster cluster(2);
  const Creation& creation = cluster[0].create("x", placed(create::PlacedElsewhere{}));
  cluster.time.run_for(100ms);
  SECTION("as long as the id is free") {
    cluster[0].tell(creation, create::PlacedHere{});
    CHECK(cluster.finish(creation).is(Kind::Created));
    CHECK(creation.factory_runs == 1);
  }
  SECTION("and otherwise it sees who was first") {
    cluster.finish(cluster[1].create("x", {}));
    cluster[0].tell(creation, create::PlacedHere{});
    CHECK(cluster.finish(creation).failed_with(ErrorKind::AlreadyExists));
    CHECK(creation.factory_runs == 0);
    CHECK(creation.slots_taken == creation.slots_freed);
  }
}

TEST_CASE("no place is the end, or is asked for again", "[PLACE-04]") {
  AcquaintedCluster cluster(1);
  SECTION("the end") {
    const create::NoPlace full{Error::capacity_exceeded("all are full"), false};
    const Creation& creation = cluster.finish(cluster[0].create("x", placed(full)));
    CHECK(creation.failed_with(ErrorKind::CapacityExceeded));
    CHECK_THAT(creation.outcome->error->message(), Contains("\"x\"") && Contains("all are full"));
    CHECK(creation.placings == 1);
  }
  SECTION("until the deadline") {
    const create::NoPlace unknown{Error::unavailable("nobody is known yet"), true};
    const Creation& creation = cluster.finish(cluster[0].create("x", placed(unknown)));
    CHECK(creation.failed_with(ErrorKind::Unavailable));
    CHECK(creation.placings > 3);
  }
  SECTION("until there is one") {
    int asked = 0;
    TestNode::Script script;
    script.place = [&asked]() -> create::Event {
      if (++asked < 3) return create::NoPlace{Error::unavailable("nobody is known yet"), true};
      return create::PlacedHere{};
    };
    CHECK(cluster.finish(cluster[0].create("x", script)).is(Kind::Created));
  }
}

TEST_CASE("what nobody waits for any more is given back", "[DURABLE-04]") {
  AcquaintedCluster cluster(1);
  const Creation& creation = cluster[0].create("x", {.factory_time = 800ms});
  cluster.time.run_for(100ms);
  REQUIRE(cluster.record("x").has_value());
  cluster[0].tell(creation, create::Withdrawn{});
  cluster.finish(creation);
  cluster.time.run_for(2s);
  CHECK(creation.is_done);
  CHECK(creation.discards == 1);
  CHECK(creation.slots_taken == creation.slots_freed);
  CHECK_FALSE(cluster[0].find("x")->is_found());
}

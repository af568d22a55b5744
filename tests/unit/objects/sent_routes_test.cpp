// What is remembered of messages on their way, and how long they were under way.
#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "objects/sent_routes.hpp"
#include "objects/transit_clock.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;

namespace {

const mesh::Peer left{NodeRid{"left"}, LifecycleId{1, 1}};
const mesh::Peer right{NodeRid{"right"}, LifecycleId{2, 2}};

Instant at(Duration time) { return {time}; }

}  // namespace

TEST_CASE("the last route of an id is known until its peer has confirmed it") {
  SentRoutes routes;
  CHECK_FALSE(routes.find(TargetKind::Actor, "anna").has_value());
  CHECK(routes.note(TargetKind::Actor, "anna", left) == 1);
  CHECK(routes.note(TargetKind::Spot, "anna", right) == 1);
  CHECK(routes.note(TargetKind::Actor, "berta", left) == 2);
  CHECK(routes.find(TargetKind::Actor, "anna") == left);
  CHECK(routes.find(TargetKind::Spot, "anna") == right);
  CHECK(routes.position(left) == 2);
  CHECK(routes.unconfirmed(left) == 2);
  routes.confirm(left, 1);
  CHECK_FALSE(routes.find(TargetKind::Actor, "anna").has_value());
  CHECK(routes.find(TargetKind::Actor, "berta") == left);
  CHECK(routes.unconfirmed(left) == 1);
  routes.confirm(left, 2);
  CHECK(routes.size() == 1);
}

TEST_CASE("a later message to an id stands for all earlier ones, along whatever route") {
  SentRoutes routes;
  for (int i = 0; i < 100; ++i) routes.note(TargetKind::Actor, "anna", left);
  CHECK(routes.size() == 1);
  routes.confirm(left, 99);
  CHECK(routes.find(TargetKind::Actor, "anna") == left);
  routes.note(TargetKind::Actor, "anna", right);
  routes.confirm(left, 100);
  CHECK(routes.find(TargetKind::Actor, "anna") == right);
  routes.end(right);
  CHECK(routes.size() == 0);
  CHECK(routes.position(right) == 0);
  // An old answer of a run that is over.
  routes.confirm(right, 1);
  CHECK(routes.unconfirmed(right) == 0);
}

TEST_CASE("what a message waited is what it took longer than the fastest of late") {
  TransitClock clock;
  const std::int64_t ahead = 1'000'000'000'000;  // the peer's clock against ours
  const auto delay = [&](Duration sent, Duration came) {
    return clock.delay(sent.count() + ahead, at(came));
  };
  CHECK(delay(100s, 100s + 2ms) == 0ms);
  CHECK(delay(101s, 101s + 5ms) == 3ms);
  CHECK(delay(102s, 102s + 1ms) == 0ms);
  CHECK(delay(103s, 107s + 1ms) == 4s);
  // The fastest of the minute before still counts …
  CHECK(delay(165s, 165s + 11ms) == 10ms);
  // … and later none that is older: a clock that was set forward is forgiven.
  CHECK(delay(400s, 410s) == 0ms);
  CHECK(delay(401s, 411s + 1ms) == 1ms);
}

TEST_CASE("a peer may claim any time of sending") {
  TransitClock clock;
  CHECK(clock.delay(0, at(1s)) == 0ms);
  CHECK(clock.delay(std::numeric_limits<std::int64_t>::min(), at(1s)) == 0ms);
  CHECK(clock.delay(std::numeric_limits<std::int64_t>::max(), at(1s)) == 0ms);
  CHECK(clock.delay(0, at(2s)) == 0ms);  // longer than any time is none
}

TEST_CASE("a claim of having sent in the future makes honest messages late for two minutes") {
  TransitClock clock;
  CHECK(clock.delay(Duration(10h).count(), at(1s)) == 0ms);
  CHECK(clock.delay(0, at(2s)) == 10h + 1s);
  CHECK(clock.delay(0, at(121s)) == 0ms);
}

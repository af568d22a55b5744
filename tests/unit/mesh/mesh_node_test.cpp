// Meshes of whole nodes over a simulated network.
#include <catch2/catch.hpp>

#include "sim_mesh.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using namespace spotmesh::mesh::testing;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> say_numbers(SimRun& from, const SimRun& to, Lane lane, int count) {
  std::vector<std::string> said;
  for (int i = 0; i < count; ++i) {
    said.push_back(fmt::format("{}", i));
    from.say(to, lane, said.back());
  }
  return said;
}

}  // namespace

TEST_CASE("what is sent on a lane arrives once and in its order, both ways over one connection") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  const auto said = say_numbers(a, b, Lane::Messages, 100);
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 100; }));
  say_numbers(b, a, Lane::Control, 100);
  REQUIRE(mesh.run_until([&] { return a.recorder.count == 100; }));
  CHECK(b.recorder.texts(a.self, Lane::Messages) == said);
  CHECK(a.recorder.texts(b.self, Lane::Control) == said);
  CHECK(a.refusals.empty());
  CHECK(mesh.network.connections() == 1);
}

TEST_CASE("both ends that dial at once come to one connection") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    SimMesh mesh(seed);
    SimRun& a = mesh.start("a");
    SimRun& b = mesh.start("b");
    const auto said = say_numbers(a, b, Lane::Messages, 3);
    say_numbers(b, a, Lane::Messages, 3);
    REQUIRE(mesh.run_until([&] { return a.recorder.count == 3 && b.recorder.count == 3; }));
    mesh.world.run_for(10s);
    CHECK(a.recorder.texts(b.self, Lane::Messages) == said);
    CHECK(b.recorder.texts(a.self, Lane::Messages) == said);
    CHECK(mesh.network.connections() == 1);
    CHECK(a.mesh.metrics().links.value() == 1);
    CHECK(b.mesh.metrics().links.value() == 1);
  }
}

TEST_CASE("a message after a connection was cut travels with those that were under way",
          "[MESH-01]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    SimMesh mesh(seed);
    SimRun& a = mesh.start("a");
    SimRun& b = mesh.start("b");
    auto said = say_numbers(a, b, Lane::Messages, 50);
    REQUIRE(mesh.run_until([&] { return b.recorder.count > seed; }));
    mesh.network.cut(a.node, b.node);
    a.say(b, Lane::Messages, "last");
    said.emplace_back("last");
    REQUIRE(mesh.run_until([&] { return b.recorder.count == 51; }));
    mesh.world.run_for(10s);
    CHECK(b.recorder.texts(a.self, Lane::Messages) == said);
    CHECK(a.recorder.over.empty());
    CHECK(b.recorder.over.empty());
  }
}

TEST_CASE("much that waits for a peer does not drown it with its welcome", "[MESH-01]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  a.say(b, Lane::Messages, "one");
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 1; }));
  mesh.network.cut(a.node, b.node);
  // Both have much to say on whichever connection comes next.
  for (int i = 0; i < 20; ++i) {
    a.say(b, Lane::Messages, std::string(100'000, 'a'));
    b.say(a, Lane::Bulk, std::string(100'000, 'b'));
  }
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 21 && a.recorder.count == 20; }));
  CHECK(a.mesh.metrics().cuts.value() == 1);
  CHECK(b.mesh.metrics().cuts.value() == 1);
}

TEST_CASE("a peer that was started again ends the session with its former run", "[MESH-02]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  a.say(b, Lane::Messages, "to the first run");
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 1; }));
  mesh.crash(b);
  a.say(b, Lane::Messages, "under way");
  SimRun& again = mesh.start("b");
  REQUIRE(mesh.run_until([&] { return !a.recorder.over.empty(); }));
  REQUIRE(a.recorder.over.size() == 1);
  CHECK(a.recorder.over[0].peer == b.self);
  CHECK(a.recorder.over[0].reason.kind() == ErrorKind::Unavailable);
  CHECK_THAT(a.recorder.over[0].reason.message(), Catch::Contains(to_string(again.self.lifecycle)));
  a.say(again, Lane::Messages, "to the second run");
  REQUIRE(mesh.run_until([&] { return again.recorder.count == 1; }));
  CHECK(again.recorder.taken[0].text == "to the second run");
  a.say(b, Lane::Messages, "too late");
  REQUIRE(a.refusals.size() == 1);
  CHECK(a.refusals[0].kind() == ErrorKind::Unavailable);
}

TEST_CASE("nothing is taken from a run that was ended, and it learns why", "[RACE-12]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  a.say(b, Lane::Messages, "one");
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 1; }));
  b.mesh.end(a.self, Error::unavailable("its lease was fenced"));
  for (int i = 0; i < 10; ++i) a.say(b, Lane::Control, "still here");
  mesh.world.run_for(60s);
  CHECK(b.recorder.count == 1);
  REQUIRE(b.recorder.over.size() == 1);
  CHECK(b.recorder.over[0].reason.message() == "its lease was fenced");
  REQUIRE(a.recorder.over.size() == 1);
  CHECK_THAT(a.recorder.over[0].reason.message(), Catch::Contains("its lease was fenced"));
}

TEST_CASE("a run that was ended is refused for good when it dials", "[RACE-12]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  b.mesh.end(a.self, Error::unavailable("its lease was fenced"));
  a.say(b, Lane::Messages, "one");
  REQUIRE(mesh.run_until([&] { return !a.recorder.over.empty(); }));
  mesh.world.run_for(60s);
  CHECK(b.recorder.count == 0);
  CHECK(b.recorder.over.empty());
  CHECK_THAT(a.recorder.over[0].reason.message(), Catch::Contains("is over"));
}

TEST_CASE("a node that stops lets its peers take what it said, and tells them") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  const auto said = say_numbers(a, b, Lane::Messages, 500);
  bool is_done = false;
  a.mesh.stop(5s, [&] { is_done = true; });
  a.say(b, Lane::Messages, "too late");
  REQUIRE(mesh.run_until([&] { return is_done && !b.recorder.over.empty(); }));
  CHECK(b.recorder.texts(a.self, Lane::Messages) == said);
  REQUIRE(a.recorder.over.size() == 1);
  CHECK(a.recorder.over[0].reason.kind() == ErrorKind::ShuttingDown);
  CHECK(b.recorder.over[0].reason.kind() == ErrorKind::Unavailable);
  REQUIRE(a.refusals.size() == 1);
  CHECK(a.refusals[0].kind() == ErrorKind::Unavailable);
}

TEST_CASE("a node stops in time though its peer is not there") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  mesh.network.partition(a.node, b.node);
  a.say(b, Lane::Messages, "one");
  bool is_done = false;
  a.mesh.stop(5s, [&] { is_done = true; });
  REQUIRE(mesh.run_until([&] { return is_done; }, 10s));
  CHECK(a.recorder.over.size() == 1);
}

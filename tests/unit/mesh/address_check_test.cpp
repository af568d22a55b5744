// A node that is about to tell the others an address, and whether it leads there.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "mesh/address_check.hpp"
#include "mesh/handshake.hpp"
#include "mesh/retry.hpp"
#include "sim_mesh.hpp"
#include "support/manual_time.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using namespace spotmesh::mesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

const Peer self{NodeRid{"a"}, LifecycleId{1, 1}};

// The machine alone: what it does is kept, and the other side is played.
struct Check {
  check::Actions feed(check::Event event) {
    check::Actions actions = machine.on_event(std::move(event), now);
    for (const auto& action : actions) {
      if (std::holds_alternative<check::Dial>(action)) ++dials;
      if (std::holds_alternative<session::Close>(action)) ++closed;
      if (const auto* write = std::get_if<session::Write>(&action)) said = write->frames.front();
      if (const auto* end = std::get_if<check::Finished>(&action)) {
        REQUIRE_FALSE(finished.has_value());
        finished = end->failure ? to_string(*end->failure) : "reached";
      }
    }
    return actions;
  }
  void start() { feed(check::Start{}); }
  void up() { feed(session::DialUp{check::connection}); }
  void down() { feed(session::Down{check::connection, "cut"}); }
  // Whoever listens answers what was said.
  void answer(const Credentials& listener) {
    AcceptHandshake accept(listener, new_nonce(random));
    for (const auto& action : accept.on_frame(said.view())) {
      if (const auto* say = std::get_if<handshake::Say>(&action)) {
        feed(session::Frames{check::connection, {say->frame}});
      }
    }
  }
  // Until the next thing that is due.
  void wait() {
    REQUIRE(machine.deadline() < Instant::max());
    now = machine.deadline();
    feed(session::TimerFired{});
  }

  spotmesh::testing::TestRandom random{5};
  SessionContext context{.credentials = {self, "cluster", Secret("s")},
                         .options = {.cluster = "cluster",
                                     .secret = "s",
                                     .listen_address = "a:1",
                                     .address_check_time = 10s},
                         .random = random};
  AddressCheck machine{context, "far:9"};
  Instant now{1h};
  int dials = 0;
  int closed = 0;
  SharedBytes said;
  std::optional<std::string> finished;
};

}  // namespace

TEST_CASE("an address is good once this very run has proven itself there") {
  Check check;
  check.start();
  CHECK(check.dials == 1);
  check.up();
  CHECK_FALSE(check.finished.has_value());
  check.answer(check.context.credentials);
  CHECK(check.finished == "reached");
  CHECK(check.closed == 1);
  // It ends with the proof: the listener never takes this for a peer.
  check.down();
  CHECK(check.dials == 1);
  CHECK(check.machine.deadline() == Instant::max());
}

TEST_CASE("whatever else is found at an address is tried again until its time is over") {
  const std::string found = GENERATE(as<std::string>(), "refuses", "another run", "a stranger",
                                     "another cluster", "is cut", "is silent");
  Check check;
  check.start();
  const Instant begun = check.now;
  int attempts = 0;
  while (!check.finished && attempts < 1000) {
    REQUIRE(check.dials == ++attempts);
    if (found == "refuses") {
      check.feed(session::DialFailed{check::connection, "connection refused"});
    } else {
      check.up();
      if (found == "another run") check.answer({{self.node, {1, 2}}, "cluster", Secret("s")});
      if (found == "a stranger") check.answer({self, "cluster", Secret("t")});
      if (found == "another cluster") check.answer({self, "elsewhere", Secret("s")});
      if (found == "is silent") check.wait();
      const bool is_hung_up = check.closed == attempts;
      CHECK(is_hung_up == (found != "is cut"));
      check.down();
    }
    // Not at once.
    CHECK(check.dials == attempts);
    if (!check.finished) check.wait();
  }
  CHECK(check.now == begun + 10s);
  CHECK(attempts >= 2);
  CHECK(attempts <= 40);
  REQUIRE(check.finished.has_value());
  CHECK_THAT(*check.finished, Contains("Unavailable") && Contains("'far:9'"));
  CHECK_THAT(*check.finished, Contains(found == "refuses"           ? "connection refused"
                                       : found == "another run"     ? "'a' (lifecycle"
                                       : found == "a stranger"      ? "another secret"
                                       : found == "another cluster" ? "of cluster"
                                       : found == "is cut"          ? "cut"
                                                                    : "does not answer"));
}

TEST_CASE("an address that comes to lead here in time is good, also after failures") {
  Check check;
  check.start();
  check.feed(session::DialFailed{check::connection, "the name is not known"});
  check.wait();
  check.up();
  check.answer({{self.node, {1, 2}}, "cluster", Secret("s")});
  // Nothing is dialled before the connection of old is down.
  check.now = check.now + 1s;
  check.feed(session::TimerFired{});
  CHECK(check.dials == 2);
  check.down();
  CHECK(check.dials == 3);
  check.up();
  check.answer(check.context.credentials);
  CHECK(check.finished == "reached");
}

TEST_CASE("a dial that never ends is given up, and hung up when it comes up after all") {
  Check check;
  check.start();
  check.wait();
  REQUIRE(check.finished.has_value());
  CHECK_THAT(*check.finished, Contains("'far:9'") && Contains("no connection comes up"));
  CHECK(check.closed == 0);
  check.up();
  CHECK(check.closed == 1);
  check.down();
  check.feed(session::TimerFired{});
  CHECK(check.dials == 1);
}

TEST_CASE("the stop of the node ends the check of its address") {
  Check check;
  check.start();
  if (GENERATE(false, true)) check.up();
  check.feed(check::Stop{});
  REQUIRE(check.finished.has_value());
  CHECK_THAT(*check.finished, Contains("ShuttingDown"));
  check.feed(check::Stop{});
}

TEST_CASE("a run finds out whether an address leads to it, over a transport") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  const std::string address = GENERATE(as<std::string>(), "a:1", "b:1", "nowhere:1");
  std::optional<Result<void>> checked;
  a.mesh.check_address(address, [&](Result<void> result) { checked = std::move(result); });
  REQUIRE(mesh.run_until([&] { return checked.has_value(); }));
  CHECK(checked->has_value() == (address == "a:1"));
  if (!*checked) {
    CHECK(checked->error().kind() == ErrorKind::Unavailable);
    CHECK_THAT(checked->error().message(), Contains("'" + address + "'"));
  }
  // It has left no session, here or there, and disturbs none.
  CHECK(a.mesh.metrics().sessions.value() == 0);
  CHECK(b.mesh.metrics().sessions.value() == 0);
  a.say(b, Lane::Messages, "one");
  CHECK(mesh.run_until([&] { return b.recorder.count == 1; }));
}

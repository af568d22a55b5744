// Bounds, windows and turns: how much is on its way, and when it leaves.
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "runtime/admission.hpp"
#include "runtime/gate.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"
#include "sim_mesh.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using namespace spotmesh::mesh::testing;
using namespace std::chrono_literals;

namespace {

// Control messages that are sent every so often, and how long each took in the world's own time.
class Punctuality {
 public:
  Punctuality(SimMesh& mesh, SimRun& from, SimRun& to) : mesh_(mesh), from_(from), to_(to) {
    to.recorder.keeps = false;
    to.recorder.on_taken = [this](const Peer&, Lane lane, const SharedBytes& message) {
      if (lane != Lane::Control) {
        bulk_bytes += message.size();
        return;
      }
      ++taken;
      longest =
          std::max(longest, mesh_.world.now() - sent_at_.at(std::string(as_text(message.view()))));
    };
  }
  void send() {
    const std::string text = fmt::format("{}", sent_at_.size());
    sent_at_[text] = mesh_.world.now();
    from_.say(to_, Lane::Control, text);
  }

  std::size_t taken = 0;
  std::size_t bulk_bytes = 0;
  Duration longest{};

 private:
  SimMesh& mesh_;
  SimRun& from_;
  SimRun& to_;
  std::map<std::string, Instant> sent_at_;
};

struct Load {
  Duration longest{};
  std::int64_t cuts = 0;
  bool has_arrived = false;
};

// Bulk over 100 Mbit/s for 30 s, with control messages beside it.
Load carry_bulk(std::size_t window_bytes, std::size_t bulk_bytes) {
  SimMesh mesh;
  MeshOptions options = SimMesh::options("a:1");
  options.window_bytes = window_bytes;
  SimRun& a = mesh.start("a", options);
  SimRun& b = mesh.start("b");
  mesh.network.set_bandwidth(a.node, b.node, 12'500'000);
  Punctuality punctuality(mesh, a, b);
  punctuality.send();
  REQUIRE(mesh.run_until([&] { return punctuality.taken == 1; }));
  const SharedBytes bulk(Bytes(2 * limits::mebibyte));
  for (std::size_t sent = 0; sent < bulk_bytes; sent += bulk.size()) {
    REQUIRE(a.mesh.send(b.self, Lane::Bulk, bulk).has_value());
  }
  for (int times = 0; times < 100; ++times) {
    mesh.world.run_for(300ms);
    punctuality.send();
  }
  mesh.world.run_for(300ms);
  return {punctuality.longest, a.mesh.metrics().cuts.value(),
          punctuality.taken == 101 && punctuality.bulk_bytes == bulk_bytes};
}

}  // namespace

TEST_CASE("control messages and heartbeats are in time beside 256 MiB of bulk", "[MESH-04]") {
  const Load load = carry_bulk(limits::mesh_window_bytes, 256 * limits::mebibyte);
  CHECK(load.has_arrived);
  CHECK(load.longest < 200ms);
  CHECK(load.cuts == 0);
}

TEST_CASE("without a window, heartbeats would stand behind all bulk, and be taken for missing") {
  CHECK(carry_bulk(256 * limits::mebibyte, 96 * limits::mebibyte).cuts > 0);
}

TEST_CASE("a lane that is full refuses what is new, and goes on by itself", "[MESH-03]") {
  SimMesh mesh;
  MeshOptions options = SimMesh::options("a:1");
  options.lanes[1] = {.messages = 10, .bytes = 1000};
  SimRun& a = mesh.start("a", options);
  SimRun& b = mesh.start("b");
  mesh.network.partition(a.node, b.node);
  std::vector<std::string> accepted;
  for (int i = 0; i < 10; ++i) {
    accepted.push_back(fmt::format("{}", i));
    a.say(b, Lane::Messages, accepted.back());
  }
  REQUIRE(a.refusals.empty());
  a.say(b, Lane::Messages, "one too many");
  REQUIRE(a.refusals.size() == 1);
  CHECK(a.refusals[0].kind() == ErrorKind::Unavailable);
  CHECK_THAT(a.refusals[0].message(), Catch::Contains("10 messages"));
  // The other lanes have bounds of their own.
  a.say(b, Lane::Control, "control");
  CHECK(a.refusals.size() == 1);
  mesh.world.run_for(30s);
  mesh.network.heal(a.node, b.node);
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 11; }));
  CHECK(b.recorder.texts(a.self, Lane::Messages) == accepted);
  mesh.world.run_for(1s);
  a.say(b, Lane::Messages, "again");
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 12; }));
  CHECK(a.mesh.metrics().refused_sends.value() == 1);
}

TEST_CASE("a lane is full by its bytes too, and an empty one takes any message", "[MESH-03]") {
  SimMesh mesh;
  MeshOptions options = SimMesh::options("a:1");
  options.lanes[2] = {.messages = 10, .bytes = 1000};
  SimRun& a = mesh.start("a", options);
  SimRun& b = mesh.start("b");
  mesh.network.partition(a.node, b.node);
  a.say(b, Lane::Bulk, std::string(5000, 'x'));
  CHECK(a.refusals.empty());
  a.say(b, Lane::Bulk, "x");
  CHECK(a.refusals.size() == 1);
}

TEST_CASE(
    "a message that is too long, or to oneself, is InvalidOperation; to nobody known it is "
    "Unavailable") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  a.say(b, Lane::Messages, std::string(limits::mesh_message_bytes, 'x'));
  CHECK(a.refusals.empty());
  a.say(b, Lane::Messages, std::string(limits::mesh_message_bytes + 1, 'x'));
  a.say(a, Lane::Messages, "x");
  mesh.addresses.known.erase(a.self);
  b.say(a, Lane::Messages, "x");
  REQUIRE(a.refusals.size() == 2);
  CHECK(a.refusals[0].kind() == ErrorKind::InvalidOperation);
  CHECK(a.refusals[1].kind() == ErrorKind::InvalidOperation);
  REQUIRE(b.refusals.size() == 1);
  CHECK(b.refusals[0].kind() == ErrorKind::Unavailable);
  // Once the peer has come by itself, its address is not needed.
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 1; }));
  b.say(a, Lane::Messages, "x");
  REQUIRE(mesh.run_until([&] { return a.recorder.count == 1; }));
  CHECK(b.recorder.taken[0].text.size() == limits::mesh_message_bytes);
}

namespace {

// An object with a gate of its own, whose turns run what they are told.
class Speaker final : public runtime::RefCounted {
 public:
  using Body = std::function<void()>;
  explicit Speaker(const runtime::GateEnvironment& environment)
      : gate_(runtime::make_ref<runtime::Gate>(environment)), mailbox_(*this, *gate_) {}

  void turn(Body body) {
    const auto pushed =
        mailbox_.push(runtime::Lane::Application, std::make_unique<Job>(std::move(body)));
    REQUIRE(pushed.has_value());
  }

 private:
  class Job final : public runtime::Job {
   public:
    explicit Job(Body body) : body_(std::move(body)) {}
    Task<void> run(runtime::Turn&) override {
      body_();
      return {};
    }
    void finished(runtime::Turn&, std::exception_ptr) override {}
    void refuse(const Error&) override {}

   private:
    Body body_;
  };

  runtime::Ref<runtime::Gate> gate_;
  runtime::Mailbox mailbox_;
};

}  // namespace

TEST_CASE("what a turn says to one peer leaves at its end, as one batch") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  const auto speaker = runtime::make_ref<Speaker>(a.node.gate_environment());
  speaker->turn([&] {
    for (const char* text : {"one", "two", "three"}) a.say(b, Lane::Messages, text);
    CHECK(a.mesh.metrics().messages_sent.value() == 0);
  });
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 3; }));
  CHECK(b.recorder.texts(a.self, Lane::Messages) ==
        std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("past the admission deadline a renewal lets go of what turns said, in order",
          "[RACE-09]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  runtime::DeadlineAdmission admission;
  admission.extend(a.node.clock().now() + 1s);
  const auto one = runtime::make_ref<Speaker>(a.node.gate_environment(&admission));
  const auto two = runtime::make_ref<Speaker>(a.node.gate_environment(&admission));
  // The deadline passes within the turn.
  one->turn([&] {
    a.say(b, Lane::Messages, "first");
    two->turn([&] { a.say(b, Lane::Messages, "second"); });
    a.node.clock().step(2s);
  });
  mesh.world.run_for(20s);
  CHECK(b.recorder.count == 0);
  // A session's turn, which needs no lease, is not held back by others.
  const auto session = runtime::make_ref<Speaker>(a.node.gate_environment());
  session->turn([&] { a.say(b, Lane::Messages, "of a session"); });
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 1; }));
  admission.extend(a.node.clock().now() + 10s);
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 3; }));
  CHECK(b.recorder.texts(a.self, Lane::Messages) ==
        std::vector<std::string>{"of a session", "first", "second"});
}

TEST_CASE("a fence drops what turns said past the admission deadline", "[RACE-09]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  runtime::DeadlineAdmission admission;
  admission.extend(a.node.clock().now() + 1s);
  const auto one = runtime::make_ref<Speaker>(a.node.gate_environment(&admission));
  one->turn([&] {
    a.say(b, Lane::Messages, "first");
    a.node.clock().step(2s);
  });
  mesh.world.run_for(1s);
  admission.fence();
  mesh.world.run_for(20s);
  CHECK(b.recorder.count == 0);
}

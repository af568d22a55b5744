// Nodes that do not belong together, and what is no node at all.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim_mesh.hpp"
#include "wire/mesh_frame.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using namespace spotmesh::mesh::testing;
using namespace std::chrono_literals;

namespace {

bool is_noted(const SimRun& run, std::string_view by_whom, std::string_view why) {
  const auto found = run.notes.by_kind.find("mesh.refused");
  if (found == run.notes.by_kind.end()) return false;
  return std::ranges::all_of(found->second, [&](const std::string& note) {
    return note.find(by_whom) != std::string::npos && note.find(why) != std::string::npos;
  });
}

// `a` wants to reach `b`, which is not of its kind.
void check_refused(const MeshOptions& b_options, std::string_view reason, bool listener_refuses) {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b", b_options);
  a.say(b, Lane::Messages, "secret plans");
  mesh.world.run_for(60s);
  CHECK(is_noted(a, listener_refuses ? "refused by the peer" : "refused by this node", reason));
  CHECK(is_noted(b, listener_refuses ? "refused by this node" : "refused by the peer", reason));
  CHECK(b.recorder.count == 0);
  CHECK(a.recorder.over.empty());
  for (const SimRun* run : {&a, &b}) {
    CHECK(run->mesh.metrics().links.value() == 0);
    CHECK(run->mesh.metrics().refused_handshakes.value() > 5);
  }
  // 50 ms, doubling to 5 s: neither given up nor tried without rest.
  CHECK(a.mesh.metrics().dials.value() > 10);
  CHECK(a.mesh.metrics().dials.value() < 40);
  CHECK(b.mesh.metrics().sessions.value() == 0);
  CHECK(mesh.run_until([&] { return mesh.network.connections() == 0; }, 10s));
}

// A stranger at the door of a node: says what it is told, and hears.
class Stranger final : public DialHandler, public ConnectionAcceptor {
 public:
  explicit Stranger(std::vector<Bytes> says) : says_(std::move(says)) {}

  void on_up(Connection& connection) override { speak(connection); }
  void on_dial_failed(Error) override { is_down = true; }
  void on_frames(Connection&, std::vector<SharedBytes> frames) override {
    for (const SharedBytes& frame : frames) {
      auto read = wire::decode_mesh_frame(frame.view());
      REQUIRE(read.has_value());
      heard.push_back(*std::move(read));
    }
  }
  void on_down(Connection&, std::string) override { is_down = true; }
  ConnectionHandler& on_accept(Connection& connection) override {
    speak(connection);
    return *this;
  }

  std::vector<wire::MeshFrame> heard;
  bool is_down = false;

 private:
  void speak(Connection& connection) {
    std::vector<SharedBytes> frames;
    for (const Bytes& each : says_) frames.push_back(SharedBytes::copy_of(each));
    connection.send(std::move(frames));
  }

  std::vector<Bytes> says_;
};

wire::MeshHello hello_to(const SimRun& run) {
  return {.version = wire::mesh_protocol_version,
          .cluster = "sim",
          .dialler = {NodeRid{"stranger"}, LifecycleId{9, 9}},
          .listener = {run.self.node, run.self.lifecycle},
          .nonce = {}};
}

// What a node answers to a stranger that has said this, before it closes.
std::vector<wire::MeshFrame> answers(SimMesh& mesh, std::vector<Bytes> said) {
  SimNode& machine = mesh.world.add_node(fmt::format("stranger-{}", mesh.world.nodes().size()));
  const auto transport = mesh.network.attach(machine);
  Stranger stranger(std::move(said));
  transport->dial("a:1", stranger);
  REQUIRE(mesh.run_until([&] { return stranger.is_down; }));
  return std::move(stranger.heard);
}

const wire::MeshRefusal& only_refusal(const std::vector<wire::MeshFrame>& heard) {
  REQUIRE_FALSE(heard.empty());
  REQUIRE(std::holds_alternative<wire::MeshRefusal>(heard.back()));
  return std::get<wire::MeshRefusal>(heard.back());
}

}  // namespace

TEST_CASE("a node of another cluster is refused, and both know why", "[MESH-05]") {
  MeshOptions options = SimMesh::options("b:1");
  options.cluster = "another";
  check_refused(options, "'a#1-1' is of cluster 'sim', 'b#2-2' of cluster 'another'", true);
}

TEST_CASE("a node with another secret is refused, and both know why", "[MESH-05]") {
  MeshOptions options = SimMesh::options("b:1");
  options.secret = "open barley";
  check_refused(options, "another secret", false);
}

TEST_CASE("a dialler of another protocol version is refused with the reason", "[MESH-05]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  Bytes hello = wire::encode(hello_to(a));
  hello[9] = std::byte{2};
  const auto heard = answers(mesh, {hello});
  CHECK(only_refusal(heard).reason == wire::MeshRefusalReason::Version);
  CHECK_THAT(only_refusal(heard).text, Catch::Contains("version 2"));
  CHECK(is_noted(a, "refused by this node", "version 2"));
}

TEST_CASE("a listener that refuses another protocol version is tried again, later", "[MESH-05]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimNode& machine = mesh.world.add_node("later");
  const auto transport = mesh.network.attach(machine);
  Stranger later({wire::encode(
      wire::MeshRefusal{wire::MeshRefusalReason::Version, "this node speaks version 2"})});
  REQUIRE(transport->listen("later:1", later).has_value());
  const Peer peer{NodeRid{"later"}, LifecycleId{9, 9}};
  mesh.addresses.known[peer] = "later:1";
  REQUIRE(a.mesh.send(peer, Lane::Messages, {}).has_value());
  mesh.world.run_for(60s);
  CHECK(is_noted(a, "refused by the peer", "this node speaks version 2"));
  CHECK(a.mesh.metrics().dials.value() > 10);
  CHECK(a.mesh.metrics().links.value() == 0);
  CHECK(a.recorder.over.empty());
}

TEST_CASE("a stranger without the secret comes no further than its proof", "[MESH-05]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  const auto heard = answers(mesh, {wire::encode(hello_to(a)), wire::encode(wire::MeshResponse{}),
                                    wire::encode(wire::MeshData{0, true, 1, as_bytes("do it")})});
  REQUIRE(heard.size() == 2);
  CHECK(only_refusal(heard).reason == wire::MeshRefusalReason::Secret);
  CHECK(a.recorder.count == 0);
  CHECK(a.mesh.metrics().sessions.value() == 0);
}

TEST_CASE("what a node has said in one handshake opens no other", "[MESH-05]") {
  // The stranger sends back to `a` what `a` itself has proven as a listener.
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  const auto first = answers(mesh, {wire::encode(hello_to(a)), Bytes{}});
  REQUIRE_FALSE(first.empty());
  const auto& challenge = std::get<wire::MeshChallenge>(first.front());
  wire::MeshResponse response;
  response.proof = challenge.proof;
  const auto heard = answers(mesh, {wire::encode(hello_to(a)), wire::encode(response)});
  CHECK(only_refusal(heard).reason == wire::MeshRefusalReason::Secret);
}

TEST_CASE("what is no node at all is told so and closed, whatever it sends", "[MESH-05]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  for (const std::string_view said : {"GET / HTTP/1.1\r\n\r\n", "", "\x06\x81garbage", "\x08"}) {
    const auto heard = answers(mesh, {to_bytes(said)});
    CHECK(only_refusal(heard).reason == wire::MeshRefusalReason::Malformed);
  }
  // More than a stranger may say unread: closed without an answer.
  CHECK(answers(mesh, {Bytes(limits::mesh_stranger_bytes + 1)}).empty());
  // One that says nothing has a while.
  CHECK(answers(mesh, {}).empty());
  CHECK(a.mesh.metrics().links.value() == 0);
}

TEST_CASE("a node whose address leads to itself says so, and goes on trying", "[MESH-05]") {
  SimMesh mesh;
  SimRun& a = mesh.start("a");
  SimRun& b = mesh.start("b");
  mesh.addresses.known[b.self] = "a:1";
  a.say(b, Lane::Messages, "one");
  mesh.world.run_for(10s);
  CHECK(is_noted(a, "another run listens", "'b#2-2'"));
  CHECK(a.recorder.over.empty());
  mesh.addresses.known[b.self] = "b:1";
  REQUIRE(mesh.run_until([&] { return b.recorder.count == 1; }));
}

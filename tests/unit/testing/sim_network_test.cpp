#include "testing/sim_network.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "testing/sim_world.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

std::vector<SharedBytes> batch(std::initializer_list<int> numbers) {
  std::vector<SharedBytes> frames;
  for (const int number : numbers) {
    frames.push_back(SharedBytes::copy_of(as_bytes(std::to_string(number))));
  }
  return frames;
}

// One process at one end: dials or accepts one connection and notes what it sees.
class Peer final : public mesh::DialHandler, public mesh::ConnectionAcceptor {
 public:
  mesh::ConnectionHandler& on_accept(mesh::Connection& accepted) override {
    connection = &accepted;
    return *this;
  }
  void on_up(mesh::Connection& dialled) override { connection = &dialled; }
  void on_dial_failed(Error error) override { failure = error.message(); }
  void on_frames(mesh::Connection&, std::vector<SharedBytes> frames) override {
    for (const SharedBytes& frame : frames) {
      received.push_back(std::stoi(std::string(as_text(frame.view()))));
    }
  }
  void on_down(mesh::Connection&, std::string reason) override {
    connection = nullptr;
    down = std::move(reason);
    ++downs;
  }

  mesh::Connection* connection = nullptr;
  std::vector<int> received;
  std::string failure;
  std::string down;
  int downs = 0;
};

struct NetworkFixture {
  explicit NetworkFixture(std::uint64_t seed = 1) : world({.seed = seed}) {}
  void connect() {
    auto address = b_transport->listen("b:0", b);
    REQUIRE(address);
    a_transport->dial(*address, a);
    REQUIRE(world.run_until([&] { return a.connection && b.connection; }, 1s) == SimOutcome::Done);
  }
  void send(Peer& from, int first, int last) {
    for (int number = first; number <= last; ++number) from.connection->send(batch({number}));
  }

  SimWorld world;
  SimNode& a_node = world.add_node("a");
  SimNode& b_node = world.add_node("b");
  SimNetwork network{world};
  Peer a;
  Peer b;
  std::unique_ptr<SimTransport> a_transport = network.attach(a_node);
  std::unique_ptr<SimTransport> b_transport = network.attach(b_node);
};

std::vector<int> numbers_to(int last) {
  std::vector<int> numbers;
  for (int number = 1; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

TEST_CASE("frames arrive whole, in order and late, and never inside send()") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.send(fixture.a, 1, 50);
  fixture.b.connection->send(batch({1, 2, 3}));
  CHECK(fixture.b.received.empty());
  fixture.world.run_for(1s);
  CHECK(fixture.b.received == numbers_to(50));
  CHECK(fixture.a.received == numbers_to(3));
}

TEST_CASE("an address that is taken, wrong or silent is said to be so") {
  NetworkFixture fixture;
  REQUIRE(fixture.b_transport->listen("b:7000", fixture.b) == "b:7000");
  CHECK(fixture.a_transport->listen("b:7000", fixture.a).error().kind() == ErrorKind::Unavailable);
  for (const char* wrong : {"", "b", ":1", "b:", "b:x", "b:70000", "b:1x"}) {
    CHECK(fixture.a_transport->listen(wrong, fixture.a).error().kind() ==
          ErrorKind::InvalidOperation);
  }
  fixture.a_transport->dial("b:7001", fixture.a);
  fixture.world.run_for(1s);
  CHECK(fixture.a.failure == "nobody listens on b:7001");
  CHECK(fixture.network.connections() == 0);
}

TEST_CASE("a dial through a partition fails after its timeout, once") {
  NetworkFixture fixture;
  REQUIRE(fixture.b_transport->listen("b:1", fixture.b));
  SECTION("there") { fixture.network.block(fixture.a_node, fixture.b_node); }
  SECTION("back") { fixture.network.block(fixture.b_node, fixture.a_node); }
  fixture.a_transport->dial("b:1", fixture.a);
  fixture.world.run_for(2s);
  CHECK(fixture.a.failure.empty());
  fixture.world.run_for(2s);
  CHECK(fixture.a.failure == "b:1 does not answer");
  fixture.network.heal(fixture.a_node, fixture.b_node);
  fixture.world.run_for(10s);
  CHECK(fixture.a.connection == nullptr);
  CHECK(fixture.a.downs == 0);
  CHECK(fixture.b.connection == nullptr);
  CHECK(fixture.network.connections() == 0);
}

TEST_CASE("a one-way partition holds one direction back and loses nothing") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.send(fixture.a, 1, 5);
  fixture.network.block(fixture.a_node, fixture.b_node);
  fixture.send(fixture.a, 6, 10);
  fixture.send(fixture.b, 1, 10);
  fixture.world.run_for(60s);
  CHECK(fixture.b.received.empty());
  CHECK(fixture.a.received == numbers_to(10));
  fixture.network.unblock(fixture.a_node, fixture.b_node);
  fixture.send(fixture.a, 11, 12);
  fixture.world.run_for(1s);
  CHECK(fixture.b.received == numbers_to(12));
}

TEST_CASE("a cut delivers some beginning of what was under way, and both ends learn of it") {
  std::set<std::size_t> arrived;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    NetworkFixture fixture(seed);
    fixture.connect();
    fixture.a.connection->send(batch({1, 2, 3}));
    fixture.a.connection->send(batch({4, 5}));
    fixture.network.cut(fixture.a_node, fixture.b_node);
    fixture.a.connection->send(batch({6}));
    fixture.world.run_for(1s);
    REQUIRE(fixture.b.received == numbers_to(static_cast<int>(fixture.b.received.size())));
    REQUIRE(fixture.b.received.size() <= 5);
    arrived.insert(fixture.b.received.size());
    CHECK(fixture.a.downs == 1);
    CHECK(fixture.b.downs == 1);
    CHECK(fixture.network.connections() == 0);
  }
  CHECK(arrived.size() == 6);
}

TEST_CASE("an end behind a partition learns of a cut when the path is back") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.network.block(fixture.a_node, fixture.b_node);
  fixture.network.cut(fixture.a_node, fixture.b_node);
  fixture.world.run_for(60s);
  CHECK(fixture.a.downs == 1);
  CHECK(fixture.b.downs == 0);
  fixture.network.unblock(fixture.a_node, fixture.b_node);
  fixture.world.run_for(1s);
  CHECK(fixture.b.downs == 1);
}

TEST_CASE("an end closes by itself while a partition holds back that the other one has closed") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.network.partition(fixture.a_node, fixture.b_node);
  fixture.b.connection->close("b is done");
  fixture.world.run_for(1s);
  CHECK(fixture.b.down == "b is done");
  REQUIRE(fixture.a.connection != nullptr);
  fixture.a.connection->close("a is done");
  fixture.world.run_for(1s);
  CHECK(fixture.a.down == "a is done");
  CHECK(fixture.network.connections() == 0);
  fixture.network.heal(fixture.a_node, fixture.b_node);
  fixture.world.run_for(1s);
  CHECK(fixture.a.downs == 1);
  CHECK(fixture.b.downs == 1);
}

TEST_CASE("an orderly end delivers what was sent before it") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.send(fixture.a, 1, 20);
  mesh::Connection& closing = *fixture.a.connection;
  closing.close("done");
  closing.close("again");
  closing.send(batch({21}));
  fixture.world.run_for(1s);
  CHECK(fixture.b.received == numbers_to(20));
  CHECK(fixture.b.down == "done");
  CHECK(fixture.a.down == "done");
  CHECK(fixture.a.downs + fixture.b.downs == 2);
}

TEST_CASE("the end of a process is the end of its connections, and nothing calls it any more") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.send(fixture.b, 1, 3);
  fixture.a_transport = nullptr;
  fixture.world.run_for(1s);
  CHECK(fixture.a.received.empty());
  CHECK(fixture.a.downs == 0);
  CHECK(fixture.b.downs == 1);
  CHECK(fixture.b.down == "the peer's process has ended");
  fixture.b_transport = nullptr;
  fixture.a_transport = fixture.network.attach(fixture.a_node);
  fixture.a_transport->dial("b:20000", fixture.a);
  fixture.world.run_for(1s);
  CHECK(fixture.a.failure == "nobody listens on b:20000");
}

TEST_CASE("a paused process sees all of it when it goes on") {
  NetworkFixture fixture;
  fixture.connect();
  fixture.b_node.pause();
  fixture.send(fixture.a, 1, 5);
  fixture.world.run_for(1s);
  fixture.a.connection->close("bye");
  fixture.world.run_for(1s);
  CHECK(fixture.b.received.empty());
  fixture.b_node.resume();
  fixture.world.run_for(1s);
  CHECK(fixture.b.received == numbers_to(5));
  CHECK(fixture.b.down == "bye");
}

TEST_CASE("a connection that is cut in its handshake ends on both sides, once") {
  int ups = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    NetworkFixture fixture(seed);
    REQUIRE(fixture.b_transport->listen("b:1", fixture.b));
    fixture.a_transport->dial("b:1", fixture.a);
    fixture.world.run_for(std::chrono::microseconds(seed * 30));
    fixture.network.cut(fixture.a_node, fixture.b_node);
    fixture.world.run_for(10s);
    CHECK(fixture.a.connection == nullptr);
    CHECK(fixture.b.connection == nullptr);
    CHECK(fixture.a.downs + (fixture.a.failure.empty() ? 0 : 1) == 1);
    ups += fixture.a.downs;
    CHECK(fixture.network.connections() == 0);
  }
  CHECK(ups > 0);
  CHECK(ups < 60);
}

TEST_CASE("paths may have delays of their own") {
  NetworkFixture fixture;
  fixture.network.set_delay(fixture.a_node, fixture.b_node, 200ms, 200ms);
  fixture.connect();
  fixture.send(fixture.a, 1, 1);
  fixture.world.run_for(199ms);
  CHECK(fixture.b.received.empty());
  fixture.world.run_for(2ms);
  CHECK(fixture.b.received == numbers_to(1));
}

}  // namespace
}  // namespace spotmesh::testing

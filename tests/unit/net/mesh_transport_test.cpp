// Connections between nodes, over real sockets.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/asio_mesh_transport.hpp"
#include "net/host_and_port.hpp"
#include "net/worker_pool.hpp"
#include "support/blocking_client.hpp"
#include "unit/net/links_fixture.hpp"
#include "unit/net/waiting.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;
using testing::BlockingClient;

namespace {

// One end of a connection, which notes what happens.
class End final : public mesh::DialHandler {
 public:
  void on_up(mesh::Connection& connection) override { come(connection); }
  void come(mesh::Connection& connection) { up_.set(&connection); }
  void on_dial_failed(Error error) override {
    ended_.change([&](auto& all) { all.push_back("dial: " + error.message()); });
  }
  void on_frames(mesh::Connection&, std::vector<SharedBytes> frames) override {
    texts_.change([&](auto& all) {
      for (const SharedBytes& frame : frames) all.emplace_back(as_text(frame.view()));
    });
  }
  void on_down(mesh::Connection&, std::string reason) override {
    ended_.change([&](auto& all) { all.push_back("down: " + reason); });
  }

  mesh::Connection& connection() {
    REQUIRE(up_.wait_until([](auto* up) { return up != nullptr; }));
    return *up_.get();
  }
  void say(const std::vector<std::string>& texts) {
    std::vector<SharedBytes> frames;
    for (const auto& text : texts) frames.push_back(SharedBytes::copy_of(as_bytes(text)));
    connection().send(std::move(frames));
  }
  std::vector<std::string> texts(std::size_t count) {
    CHECK(texts_.wait_until([&](const auto& all) { return all.size() >= count; }));
    return texts_.get();
  }
  // How it ended, which it does once.
  std::string ending() {
    REQUIRE(ended_.wait_until([](const auto& all) { return !all.empty(); }));
    REQUIRE(ended_.get().size() == 1);
    return ended_.get().front();
  }
  bool has_ended() { return !ended_.get().empty(); }

 private:
  Watched<mesh::Connection*> up_{nullptr};
  Watched<std::vector<std::string>> texts_;
  Watched<std::vector<std::string>> ended_;
};

class Acceptor final : public mesh::ConnectionAcceptor {
 public:
  mesh::ConnectionHandler& on_accept(mesh::Connection& connection) override {
    auto end = std::make_shared<End>();
    end->come(connection);
    ends_.change([&](auto& all) { all.push_back(end); });
    return *end;
  }
  std::size_t count() const { return ends_.get().size(); }
  End& end(std::size_t n) {
    REQUIRE(ends_.wait_until([n](const auto& all) { return all.size() > n; }));
    return *ends_.get()[n];
  }

 private:
  Watched<std::vector<std::shared_ptr<End>>> ends_;
};

struct Node {
  explicit Node(MeshTransportOptions options = {}) : transport(pool, log, options) {}
  ~Node() {
    transport.close();
    pool.stop();
  }
  std::string listen(const std::string& address = "127.0.0.1:0") {
    auto bound = transport.listen(address, acceptor);
    REQUIRE(bound.has_value());
    return *bound;
  }

  // Outlive the transport, whose last calls go to them.
  Acceptor acceptor;
  End dialled;
  RecordingLog log;
  WorkerPool pool{{.threads = 2}};
  AsioMeshTransport transport;
};

// A port whose system answers no dial: as many connections wait there as may.
class DeafPort {
 public:
  DeafPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(listening_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(listening_, 0) == 0);
    REQUIRE(getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    for (int& each : waiting_) {
      each = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      (void)connect(each, reinterpret_cast<sockaddr*>(&address), size);
    }
  }
  ~DeafPort() {
    for (const int each : waiting_) close(each);
    close(listening_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const int listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::array<int, 4> waiting_{};
  std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("frames go both ways between nodes, whole and in order") {
  Node a;
  Node b;
  a.transport.dial(b.listen(), a.dialled);
  std::vector<std::string> said;
  for (int i = 0; i < 2000; ++i)
    said.push_back(std::string(static_cast<std::size_t>(i) * 7, 'x') + "!");
  for (std::size_t i = 0; i < said.size(); i += 100) {
    const auto at = said.begin() + static_cast<std::ptrdiff_t>(i);
    a.dialled.say({at, at + 100});
  }
  End& accepted = b.acceptor.end(0);
  CHECK(accepted.texts(said.size()) == said);
  accepted.say({"answer", std::string(65'536, 'y')});
  CHECK(a.dialled.texts(2) == std::vector<std::string>{"answer", std::string(65'536, 'y')});
  CHECK(a.transport.connections() == 1);

  accepted.say({"last words"});
  accepted.connection().close("enough");
  CHECK(a.dialled.texts(3).back() == "last words");
  CHECK(a.dialled.ending() == "down: closed by peer");
  CHECK(accepted.ending() == "down: enough");
}

TEST_CASE("a node may be dialled by its name, and over IPv6 where there is that") {
  Node a;
  Node b;
  const auto bound = parse_host_and_port(b.listen("localhost:0"));
  REQUIRE(bound.has_value());
  CHECK(bound->host == "localhost");
  a.transport.dial("localhost:" + std::to_string(bound->port), a.dialled);
  a.dialled.say({"hello"});
  CHECK(b.acceptor.end(0).texts(1).front() == "hello");
}

TEST_CASE("a dial that leads nowhere fails once, and says where it led") {
  Node a;
  std::string free;
  {
    Node b;
    free = b.listen();
  }
  const auto [address, reason] = GENERATE_COPY(table<std::string, std::string>(
      {{free, "cannot connect to '" + free + "': Connection refused"},
       {"127.0.0.1", "'127.0.0.1' is no address to dial; it would be HOST:PORT"},
       {"127.0.0.1:0", "'127.0.0.1:0' is no address to dial; it would be HOST:PORT"},
       {"", "'' is no address to dial; it would be HOST:PORT"}}));
  a.transport.dial(address, a.dialled);
  CHECK(a.dialled.ending() == "dial: " + reason);
  a.transport.close();
  CHECK(a.transport.connections() == 0);
}

TEST_CASE("a dial that nobody answers fails after its time") {
  Node a({.dial_time = 50ms});
  const DeafPort deaf;
  a.transport.dial(deaf.address(), a.dialled);
  CHECK(a.dialled.ending() == "dial: '" + deaf.address() + "' did not answer within 50 ms");
}

TEST_CASE("an address that cannot be listened on is named") {
  Node a;
  Node b;
  const std::string taken = b.listen();
  const auto refused = a.transport.listen(taken, a.acceptor);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::Unavailable);
  CHECK_THAT(refused.error().message(), Catch::Contains(taken));
  const auto malformed = a.transport.listen("nowhere", a.acceptor);
  REQUIRE_FALSE(malformed.has_value());
  CHECK(malformed.error().kind() == ErrorKind::InvalidOperation);
  CHECK_THAT(malformed.error().message(), Catch::Contains("'nowhere'"));
}

TEST_CASE("a stranger who announces a frame that nobody sends is cut off, and nobody else") {
  Node a;
  Node b;
  const std::string address = b.listen();
  a.transport.dial(address, a.dialled);
  End& sound = b.acceptor.end(0);
  BlockingClient stranger(parse_host_and_port(address)->port);
  REQUIRE(stranger.send(std::string("\x02\0\0\0hi", 6) + "\xff\xff\xff\xff and more"));
  End& hostile = b.acceptor.end(1);
  CHECK_THAT(hostile.ending(), Catch::Contains("a frame of 4294967295 bytes is announced; 1 to"));
  CHECK(hostile.texts(1) == std::vector<std::string>{"hi"});
  CHECK(stranger.is_closed_by_server());
  a.dialled.say({"still here"});
  CHECK(sound.texts(1).front() == "still here");
}

TEST_CASE("a frame that is not whole at the end of its connection is no frame") {
  Node b;
  BlockingClient peer(parse_host_and_port(b.listen())->port);
  REQUIRE(peer.send(std::string("\x09\0\0\0half", 8)));
  End& end = b.acceptor.end(0);
  peer.close();
  CHECK(end.ending() == "down: closed by peer");
  CHECK(end.texts(0).empty());
}

TEST_CASE("nobody is accepted any more once listening has been stopped, and others stay") {
  Node a;
  Node b;
  const std::string address = b.listen();
  a.transport.dial(address, a.dialled);
  End& accepted = b.acceptor.end(0);
  b.transport.stop_listening();
  CHECK_FALSE(BlockingClient(parse_host_and_port(address)->port).is_open());
  a.dialled.say({"hello"});
  CHECK(accepted.texts(1).front() == "hello");
  CHECK(b.acceptor.count() == 1);
}

TEST_CASE("the end of a transport ends its connections and its dials, and tells their handlers") {
  std::vector<std::unique_ptr<End>> ends;
  Node b;
  const std::string address = b.listen();
  {
    Node a;
    for (int i = 0; i < 50; ++i) {
      ends.push_back(std::make_unique<End>());
      a.transport.dial(address, *ends.back());
    }
    a.transport.close();
    for (const auto& end : ends) CHECK(end->has_ended());
    CHECK(a.transport.connections() == 0);
    End late;
    a.transport.dial(address, late);
    CHECK_THAT(late.ending(), Catch::Contains("dial: "));
  }
  for (std::size_t i = 0; i < b.acceptor.count(); ++i) b.acceptor.end(i).ending();
}

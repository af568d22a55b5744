// The session machine, by table: events in, actions out.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mesh/session_machine.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using namespace std::chrono_literals;
using State = SessionMachine::State;

namespace {

class SomeRandom final : public Random {
 public:
  std::uint64_t next_u64() override { return state_ = state_ * 6364136223846793005U + 1; }

 private:
  std::uint64_t state_ = 1;
};

const Peer low{NodeRid{"low"}, LifecycleId{1, 1}};
const Peer peer{NodeRid{"peer"}, LifecycleId{2, 2}};
const Peer high{NodeRid{"zenith"}, LifecycleId{3, 3}};
constexpr ConnectionId offered = 7;

// One side of a session with `peer`, and what it did last.
class Side {
 public:
  explicit Side(const Peer& self = low)
      : context_{.credentials = {self, "table", Secret("s")},
                 .options = {.cluster = "table", .secret = "s", .listen_address = {}},
                 .random = random_},
        machine(context_, peer, 1) {}

  void feed(session::Event event) { actions = machine.on_event(std::move(event), now); }
  void send(std::string_view text, Lane lane = Lane::Messages) {
    session::Send event;
    event.messages.push_back({lane, SharedBytes::copy_of(as_bytes(text))});
    feed(std::move(event));
  }
  void hear(const auto& frame) { feed(session::Frames{link, {SharedBytes(wire::encode(frame))}}); }
  void offer(wire::MeshResponse response, ConnectionId id = offered) {
    feed(session::Offer{id, response});
  }
  // Linked by a dial of the peer.
  void be_linked() {
    offer({.dial = 1});
    link = offered;
    REQUIRE(machine.state() == State::Linked);
  }
  // Dialling, and as far as the peer's proof.
  void be_greeting() {
    send("first");
    link = only<session::Dial>().connection;
    feed(session::DialUp{link});
    hello = frames().at(0);
  }
  void be_linked_by_own_dial() {
    be_greeting();
    answer_hello(peer);
    hear(wire::MeshWelcome{});
    REQUIRE(machine.state() == State::Linked);
  }
  void answer_hello(const Peer& listener, const std::string& secret = "s") {
    const Credentials theirs{listener, "table", Secret(secret)};
    AcceptHandshake accept(theirs, {});
    for (auto& action : accept.on_frame(hello.view())) {
      if (auto* say = std::get_if<handshake::Say>(&action)) {
        feed(session::Frames{link, {say->frame}});
      }
    }
  }
  void let_timer_fire() {
    now = machine.deadline();
    feed(session::TimerFired{});
  }

  template <typename Action>
  std::vector<Action> all() const {
    std::vector<Action> found;
    for (const auto& action : actions) {
      if (const auto* each = std::get_if<Action>(&action)) found.push_back(*each);
    }
    return found;
  }
  template <typename Action>
  Action only() const {
    const auto found = all<Action>();
    REQUIRE(found.size() == 1);
    return found.front();
  }
  // All that was written, on whichever connection.
  std::vector<SharedBytes> frames() const {
    std::vector<SharedBytes> frames;
    for (const auto& write : all<session::Write>()) {
      frames.insert(frames.end(), write.frames.begin(), write.frames.end());
    }
    return frames;
  }
  template <typename Frame>
  std::vector<Frame> written() const {
    std::vector<Frame> found;
    for (const SharedBytes& bytes : frames()) {
      const auto frame = wire::decode_mesh_frame(bytes.view());
      REQUIRE(frame.has_value());
      if (const auto* each = std::get_if<Frame>(&*frame)) found.push_back(*each);
    }
    return found;
  }
  void check_refuses_offer(wire::MeshRefusalReason reason) const {
    CHECK(written<wire::MeshRefusal>().at(0).reason == reason);
    CHECK(all<session::Write>().back().connection == offered);
    CHECK(only<session::Close>().connection == offered);
  }

  SomeRandom random_;
  SessionContext context_;
  SessionMachine machine;
  Instant now{1h};
  ConnectionId link = 0;
  SharedBytes hello;
  session::Actions actions;
};

wire::MeshData data(std::uint64_t sequence, std::string_view text = "x") {
  return {.lane = 1, .is_last = true, .sequence = sequence, .bytes = as_bytes(text)};
}

}  // namespace

TEST_CASE("a session dials with its first message, and sends it when it is welcome") {
  Side side;
  CHECK(side.machine.deadline() == Instant::max());
  side.be_greeting();
  CHECK(side.machine.state() == State::Greeting);
  CHECK(side.machine.deadline() == side.now + 5s);
  side.answer_hello(peer);
  CHECK(side.written<wire::MeshResponse>().at(0).dial == 1);
  CHECK(side.written<wire::MeshData>().empty());
  side.hear(wire::MeshWelcome{});
  CHECK(side.machine.state() == State::Linked);
  CHECK(as_text(side.written<wire::MeshData>().at(0).bytes) == "first");
  CHECK_FALSE(side.machine.is_drained());
  side.hear(wire::MeshAcknowledgement{{0, 1, 0}});
  CHECK(side.only<session::Credit>().credit.messages == 1);
  CHECK(side.machine.is_drained());
}

TEST_CASE("a dial that fails, in whichever way, is made again after a pause that doubles") {
  Side side;
  side.send("first");
  Duration before{};
  for (int times = 0; times < 12; ++times) {
    const auto id = side.only<session::Dial>().connection;
    switch (times % 4) {
      case 0:
        side.feed(session::DialFailed{id, "refused"});
        break;
      case 1:
        side.feed(session::DialUp{id});
        side.feed(session::Down{id, "reset"});
        break;
      case 2:
        side.feed(session::DialUp{id});
        side.let_timer_fire();
        CHECK(side.only<session::Close>().connection == id);
        break;
      case 3:
        side.link = id;
        side.feed(session::DialUp{id});
        side.hear(wire::MeshRefusal{wire::MeshRefusalReason::Cluster, "another"});
        CHECK(side.only<session::DialRefused>().refused.is_by_peer);
        break;
    }
    CHECK(side.machine.state() == State::Waiting);
    const Duration pause = side.machine.deadline() - side.now;
    if (times < 6) CHECK(pause >= before);
    CHECK(pause <= 5s);
    CHECK(pause >= 25ms);
    before = pause;
    side.let_timer_fire();
    CHECK(side.machine.state() == State::Dialling);
  }
}

TEST_CASE("a peer that offers itself is welcomed, and numbers go on in both directions") {
  Side side;
  side.be_linked();
  side.hear(data(1, "hello"));
  CHECK(as_text(side.only<session::Deliver>().message.view()) == "hello");
  side.send("one");
  side.send("two");
  side.feed(session::Down{offered, "reset"});
  CHECK(side.machine.state() == State::Waiting);
  side.offer({.dial = 2, .received = {0, 1, 0}}, 9);
  CHECK(side.written<wire::MeshWelcome>().at(0).received == wire::MeshPositions{0, 1, 0});
  REQUIRE(side.written<wire::MeshData>().size() == 1);
  CHECK(as_text(side.written<wire::MeshData>().at(0).bytes) == "two");
  CHECK(side.only<session::Credit>().credit.messages == 1);
}

TEST_CASE("a number that was taken is dropped and counted; a gap cuts the connection",
          "[MESH-01]") {
  Side side;
  side.be_linked();
  side.hear(data(1));
  side.hear(data(1));
  CHECK(side.all<session::Deliver>().empty());
  CHECK(side.machine.take_tally().duplicates_dropped == 1);
  side.hear(data(3));
  CHECK(side.all<session::Deliver>().empty());
  CHECK(side.only<session::Close>().connection == offered);
  CHECK(side.machine.state() == State::Waiting);
}

TEST_CASE("what does not belong on a linked connection cuts it, and the session goes on") {
  const std::vector<Bytes> wrong = {to_bytes("nonsense"), wire::encode(wire::MeshWelcome{}),
                                    wire::encode(wire::MeshRefusal{}),
                                    wire::encode(wire::MeshAcknowledgement{{0, 5, 0}})};
  for (const Bytes& frame : wrong) {
    Side side;
    side.be_linked();
    side.feed(session::Frames{offered,
                              {SharedBytes::copy_of(frame), SharedBytes(wire::encode(data(1)))}});
    CHECK(side.only<session::Close>().connection == offered);
    CHECK(side.all<session::Deliver>().empty());
    CHECK(side.all<session::Ended>().empty());
    CHECK(side.machine.state() == State::Waiting);
  }
}

TEST_CASE("a link that says nothing beats every 2 s, and is cut after 5 s of silence") {
  Side side;
  side.be_linked();
  const Instant linked = side.now;
  side.let_timer_fire();
  CHECK(side.now == linked + 2s);
  CHECK(side.written<wire::MeshAcknowledgement>().size() == 1);
  side.let_timer_fire();
  CHECK(side.now == linked + 4s);
  side.let_timer_fire();
  CHECK(side.now == linked + 5s);
  CHECK(side.only<session::Unlinked>().reason == "two heartbeats are missing");
  CHECK(side.only<session::Close>().connection == offered);
  CHECK(side.machine.state() == State::Waiting);
}

TEST_CASE("whatever is heard counts as a heartbeat") {
  Side side;
  side.be_linked();
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
    side.now = side.now + 4s;
    side.hear(data(sequence));
    side.feed(session::TimerFired{});
    CHECK(side.machine.state() == State::Linked);
  }
}

TEST_CASE("an acknowledgement waits for company, for a while, or until much is owed") {
  Side side;
  side.be_linked();
  side.hear(data(1));
  CHECK(side.frames().empty());
  CHECK(side.machine.deadline() == side.now + 20ms);
  side.send("goes along");
  CHECK(side.written<wire::MeshAcknowledgement>().at(0).received[1] == 1);
  CHECK(side.written<wire::MeshData>().size() == 1);
  side.hear(data(2));
  side.let_timer_fire();
  CHECK(side.written<wire::MeshAcknowledgement>().at(0).received[1] == 2);
  for (std::uint64_t sequence = 3; sequence < 66; ++sequence) {
    side.hear(data(sequence));
    CHECK(side.frames().empty());
  }
  side.hear(data(66));
  CHECK(side.written<wire::MeshAcknowledgement>().at(0).received[1] == 66);
}

TEST_CASE("control is written first, and the other lanes as far as their windows go", "[MESH-04]") {
  Side side;
  const std::string piece(limits::mesh_piece_bytes, 'x');
  session::Send event;
  for (int i = 0; i < 40; ++i) {
    for (const Lane lane : {Lane::Bulk, Lane::Messages, Lane::Control}) {
      event.messages.push_back({lane, SharedBytes::copy_of(as_bytes(piece))});
    }
  }
  side.feed(std::move(event));
  side.offer({.dial = 1});
  side.link = offered;
  const auto written = side.written<wire::MeshData>();
  const std::size_t window = limits::mesh_window_bytes / limits::mesh_piece_bytes;
  REQUIRE(written.size() == 40 + 2 * window);
  for (std::size_t i = 0; i < 40; ++i) CHECK(written[i].lane == 0);
  CHECK(written[40].lane == 1);
  CHECK(written.back().lane == 2);
  side.hear(wire::MeshAcknowledgement{{0, 0, 3}});
  REQUIRE(side.written<wire::MeshData>().size() == 3);
  CHECK(side.written<wire::MeshData>()[0].sequence == window + 1);
}

TEST_CASE("of two dials at once that of the smaller run is kept, by both") {
  Side smaller(low);
  smaller.be_greeting();
  smaller.offer({.dial = 1});
  smaller.check_refuses_offer(wire::MeshRefusalReason::Simultaneous);
  CHECK(smaller.machine.state() == State::Greeting);

  Side larger(high);
  larger.be_greeting();
  larger.offer({.dial = 1});
  CHECK(larger.only<session::Close>().connection == larger.link);
  CHECK(larger.only<session::Linked>().connection == offered);
  larger.feed(session::Down{larger.link, "closed"});
  CHECK(larger.machine.state() == State::Linked);
}

TEST_CASE("a dial that has not come up yet gives way to an offer") {
  Side side;
  side.send("first");
  const auto dial = side.only<session::Dial>().connection;
  side.be_linked();
  side.feed(session::DialUp{dial});
  CHECK(side.only<session::Close>().connection == dial);
  CHECK(side.machine.state() == State::Linked);
}

TEST_CASE("an offer that is older than the present link is refused, a newer one replaces it") {
  Side own;
  own.be_linked_by_own_dial();
  // Said before the peer took up the dial that now carries the session.
  own.offer({.dial = 1, .adopted = 0});
  own.check_refuses_offer(wire::MeshRefusalReason::Simultaneous);
  CHECK(own.machine.state() == State::Linked);
  own.offer({.dial = 2, .adopted = 1, .received = {0, 1, 0}});
  CHECK(own.only<session::Close>().connection == own.link);
  CHECK(own.only<session::Linked>().connection == offered);

  Side theirs;
  theirs.offer({.dial = 3}, 9);
  theirs.offer({.dial = 2});
  theirs.check_refuses_offer(wire::MeshRefusalReason::Simultaneous);
  theirs.offer({.dial = 4}, 11);
  CHECK(theirs.only<session::Close>().connection == 9);
  CHECK(theirs.only<session::Linked>().connection == 11);
  theirs.feed(session::Frames{9, {SharedBytes(wire::encode(data(1)))}});
  CHECK(theirs.actions.empty());
}

TEST_CASE("positions that cannot be are refused, whoever says them") {
  Side offered_to;
  offered_to.offer({.dial = 1, .received = {0, 1, 0}});
  offered_to.check_refuses_offer(wire::MeshRefusalReason::Positions);
  Side dialling;
  dialling.be_greeting();
  dialling.answer_hello(peer);
  dialling.hear(wire::MeshWelcome{{0, 2, 0}});
  CHECK(dialling.machine.state() == State::Waiting);
  CHECK(dialling.only<session::DialRefused>().refused.reason == wire::MeshRefusalReason::Positions);
}

TEST_CASE("another run at the peer's address ends the session, this node itself does not",
          "[MESH-02]") {
  Side side;
  side.be_greeting();
  side.answer_hello({NodeRid{"peer2"}, LifecycleId{2, 3}});
  CHECK(side.written<wire::MeshRefusal>().at(0).reason == wire::MeshRefusalReason::OtherRun);
  CHECK(side.only<session::Ended>().reason.kind() == ErrorKind::Unavailable);
  CHECK(side.machine.state() == State::Ended);
  Side itself;
  itself.be_greeting();
  itself.answer_hello(low);
  CHECK(itself.machine.state() == State::Waiting);
}

TEST_CASE("that a run is over is believed only of a listener that has proven itself", "[RACE-12]") {
  const wire::MeshRefusal over{wire::MeshRefusalReason::RunOver, "fenced"};
  Side before;
  before.be_greeting();
  before.hear(over);
  CHECK(before.machine.state() == State::Waiting);
  Side after;
  after.be_greeting();
  after.answer_hello(peer);
  after.hear(over);
  CHECK(after.machine.state() == State::Ended);
  CHECK_THAT(after.only<session::Ended>().reason.message(), Catch::Contains("fenced"));
}

TEST_CASE("a session that has ended does nothing any more") {
  Side side;
  side.be_linked();
  side.feed(session::Finish{Error::unavailable("fenced")});
  CHECK(side.written<wire::MeshFarewell>().at(0).text == "fenced");
  CHECK(side.only<session::Close>().connection == offered);
  CHECK(side.only<session::Ended>().reason.message() == "fenced");
  CHECK(side.machine.deadline() == Instant::max());
  side.send("more");
  CHECK(side.actions.empty());
  side.offer({.dial = 2});
  CHECK(side.actions.empty());
  side.hear(data(1));
  CHECK(side.actions.empty());
}

TEST_CASE("a farewell ends the session, and nothing behind it is taken") {
  Side side;
  side.be_linked();
  side.feed(session::Frames{offered,
                            {SharedBytes(wire::encode(wire::MeshFarewell{"stopping"})),
                             SharedBytes(wire::encode(data(1)))}});
  CHECK(side.all<session::Deliver>().empty());
  CHECK_THAT(side.only<session::Ended>().reason.message(), Catch::Contains("stopping"));
}

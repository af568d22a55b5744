// What happens when the two ends of a connection are not equally fast.
#include <algorithm>

#include "gateway_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

using Kind = DisconnectReason::Kind;

namespace {

std::string text_of(std::size_t bytes) { return std::string(bytes, 'x'); }

// Handlers wait until the test lets them go on.
struct Barrier {
  runtime::Ref<runtime::Completion<bool>> open = runtime::make_completion<bool>();
  void hold(GatewayFixture& gateway) {
    gateway.script.on_say = [this](ChatSession&, const chat::Say&) -> Task<Result<void>> {
      if (!open->is_complete()) co_await open->wait();
      co_return Result<void>();
    };
  }
};

}  // namespace

TEST_CASE("a session whose handler does not keep up is no longer read, and nothing is lost",
          "[BIND-11]") {
  GatewayFixture gateway({.inbound_jobs = 16});
  Barrier barrier;
  barrier.hold(gateway);
  SimStreamClient client = gateway.connect("ada");
  constexpr int count = 500;
  for (int i = 0; i < count; ++i) client.send(chat::Say{.text = std::to_string(i)});
  gateway.run_for(10s);
  CHECK(gateway.times_seen("says") == 1);
  CHECK(client.unread_bytes() > 10'000);
  CHECK(gateway.server->metrics().reading_paused.value() == 1);

  barrier.open->complete(true);
  gateway.wait_for([&] { return gateway.times_seen("says") == count; });
  for (int i = 0; i < count; ++i) {
    CHECK(gateway.script.seen[static_cast<std::size_t>(i) + 1] == "ada says " + std::to_string(i));
  }
  CHECK(client.is_open());
}

TEST_CASE("packets that come in one read are held back like any others", "[BIND-11]") {
  GatewayFixture gateway({.inbound_jobs = 4});
  Barrier barrier;
  barrier.hold(gateway);
  SimStreamClient client = gateway.connect("ada");
  Bytes together;
  for (int i = 0; i < 100; ++i) {
    const std::string text =
        R"({"packet":"chat.Say","payload":{"text":")" + std::to_string(i) + "\"}}";
    wire::append_frame(together, wire::WebSocketOpcode::Text, as_bytes(text), wire::MaskKey{});
  }
  client.send_bytes(std::move(together));
  client.send(chat::Say{.text = "100"});
  gateway.run_for(1s);
  CHECK(gateway.times_seen("says") == 1);
  barrier.open->complete(true);
  gateway.wait_for([&] { return gateway.times_seen("says") == 101; });
  CHECK(gateway.script.seen.back() == "ada says 100");
  CHECK(gateway.script.seen[50] == "ada says 49");
}

TEST_CASE("a packet for an Actor whose mailbox is full waits, and nothing overtakes it",
          "[BIND-11]") {
  GatewayFixture gateway({.inbound_jobs = 16});
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  auto& actor = gateway.bindings.actor("player");
  actor.capacity = 3;
  for (int i = 0; i < 300; ++i) client.send(chat::Move{.number = i});
  client.send(chat::Say{.text = "behind them all"});
  gateway.run_for(5s);
  CHECK(actor.queue.size() == 3);
  CHECK(gateway.bindings.refused_relays > 1);
  CHECK(gateway.bindings.refused_relays < 5000 / 40);
  CHECK(client.unread_bytes() > 5'000);
  CHECK_FALSE(gateway.has_seen("behind"));

  std::vector<int> numbers;
  while (numbers.size() < 300) {
    gateway.wait_for([&] { return !actor.queue.empty(); });
    numbers.push_back(actor.queue.front().message.decode<chat::Move>()->number);
    actor.queue.pop_front();
  }
  for (int i = 0; i < 300; ++i) CHECK(numbers[static_cast<std::size_t>(i)] == i);
  gateway.wait_for([&] { return gateway.has_seen("behind them all"); });
}

TEST_CASE("a request that finds the Actor's mailbox full until its deadline is never delivered") {
  GatewayFixture gateway({.request_timeout = 2s});
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  auto& actor = gateway.bindings.actor("player");
  actor.capacity = 0;
  CHECK(gateway.ask<chat::Moved>(client, chat::Move{}).error().kind() ==
        ErrorKind::DeadlineExceeded);
  actor.capacity = 10;
  client.send(chat::Move{.number = 2});
  gateway.wait_for([&] { return !actor.queue.empty(); });
  CHECK(actor.queue.front().message.decode<chat::Move>()->number == 2);
}

TEST_CASE("a session that ends while the Actor's mailbox is full gives up its packet and is gone") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  gateway.bindings.actor("player").capacity = 0;
  client.send(chat::Move{});
  gateway.run_for(1s);
  client.reset();
  gateway.wait_for([&] { return gateway.server->session_count() == 0; });
  CHECK(gateway.bindings.actor("player").disconnects == 1);
  CHECK(gateway.server->metrics().dropped_packets.value() == 1);
}

TEST_CASE("a client that goes while it is not read is missed within two heartbeats", "[BIND-11]") {
  GatewayFixture gateway({.heartbeat_interval = 2s});
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  gateway.bindings.actor("player").capacity = 0;
  for (int i = 0; i < 3; ++i) client.send(chat::Move{});
  gateway.run_for(1s);
  SECTION("with a close that nobody reads") {
    client.close();
    client.hang_up();
  }
  SECTION("without a word") { client.hang_up(); }
  SECTION("by a reset") { client.reset(); }
  gateway.run_for(4s + 100ms);
  CHECK(gateway.server->session_count() == 0);
  CHECK(gateway.links.open_links() == 0);
  CHECK(gateway.bindings.actor("player").disconnects == 1);
}

TEST_CASE("the 257th unanswered request is refused at once, the others are answered") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  std::vector<Error> refused;
  int answered = 0;
  for (int i = 0; i < 260; ++i) {
    client.request<chat::Moved>(chat::Move{.number = i}, [&](const Result<chat::Moved>& reply) {
      if (reply) {
        ++answered;
      } else {
        refused.push_back(reply.error());
      }
    });
  }
  auto& queue = gateway.bindings.actor("player").queue;
  gateway.wait_for([&] { return queue.size() == 256 && refused.size() == 4; });
  CHECK(refused.front() ==
        Error::capacity_exceeded("256 requests have no answer yet, which is the most"));
  while (!queue.empty()) {
    queue.front().reply(Message::of(chat::Moved{}));
    queue.pop_front();
  }
  gateway.wait_for([&] { return answered == 256; });
}

TEST_CASE("a client that does not read is closed with a reason at a bounded backlog", "[BIND-10]") {
  GatewayFixture gateway({.outbound_bytes = 64 * 1024}, {.socket_buffer_bytes = 8 * 1024});
  SimStreamClient reader = gateway.connect_bound("reader", {"good"});
  SimStreamClient sloth = gateway.connect_bound("sloth", {"bad"});
  sloth.stop_reading();
  std::optional<Kind> reason;
  gateway.script.on_disconnect = [&](ChatSession&, const DisconnectReason& why) -> Task<void> {
    reason = why.kind;
    co_return;
  };
  std::size_t accepted = 0;
  const Message notice = Message::of(chat::Notice{.text = text_of(1000)});
  for (int i = 0; i < 1000; ++i) {
    if (gateway.bindings.actor("bad").binding && gateway.bindings.push("bad", notice)) ++accepted;
    REQUIRE(gateway.bindings.push("good", notice));
    gateway.run_for(1ms);
  }
  gateway.wait_for([&] { return reason.has_value(); });
  CHECK(reason == Kind::SlowClient);
  CHECK(accepted * 1000 > 64 * 1024);
  CHECK(accepted * 1000 < 160 * 1024);
  CHECK(gateway.has_seen("bytes wait for a client that does not read"));
  CHECK(gateway.server->metrics().closed_slow.value() == 1);
  gateway.wait_for([&] { return reader.pushes_received() == 1000; });
  sloth.start_reading();
  gateway.wait_for_close(sloth);
}

TEST_CASE("a backlog that nobody adds to is found by time alone", "[BIND-10]") {
  GatewayFixture gateway({.outbound_bytes = 64 * 1024}, {.socket_buffer_bytes = 8 * 1024});
  SimStreamClient sloth = gateway.connect_bound("sloth", {"bad"});
  sloth.stop_reading();
  for (int i = 0; i < 90; ++i) {
    REQUIRE(gateway.push("bad", chat::Notice{.text = text_of(1000)}));
  }
  gateway.run_for(900ms);
  CHECK(gateway.server->session_count() == 1);
  CHECK(gateway.server->metrics().closed_slow.value() == 0);
  gateway.run_for(200ms);
  CHECK(gateway.server->metrics().closed_slow.value() == 1);
}

TEST_CASE("a client that catches up in time is not slow") {
  GatewayFixture gateway({.outbound_bytes = 64 * 1024}, {.socket_buffer_bytes = 8 * 1024});
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  for (int round = 0; round < 5; ++round) {
    client.stop_reading();
    for (int i = 0; i < 90; ++i) {
      REQUIRE(gateway.push("player", chat::Notice{.text = text_of(1000)}));
    }
    gateway.run_for(800ms);
    client.start_reading();
    gateway.run_for(800ms);
  }
  CHECK(client.pushes_received() == 450);
  CHECK(client.is_open());
}

TEST_CASE("a burst of small pushes to a healthy client in one turn never counts as slowness") {
  GatewayFixture gateway({.outbound_bytes = 16 * 1024});
  std::vector<Error> refused;
  int pushes = GENERATE(500, 800);
  gateway.script.on_say = [&](ChatSession& session, const chat::Say&) -> Task<Result<void>> {
    for (int i = 0; i < pushes; ++i) {
      auto sent = session.context().send(chat::Notice{.number = i});
      if (!sent) refused.push_back(sent.error());
    }
    co_return Result<void>();
  };
  SimStreamClient client = gateway.connect("ada");
  client.send(chat::Say{});
  gateway.wait_for([&] {
    return client.pushes_received() + refused.size() == static_cast<std::size_t>(pushes);
  });
  gateway.run_for(10s);
  CHECK(client.is_open());
  // One turn cannot say more than twice what may stand unsent; the pusher is told.
  CHECK(refused.empty() == (pushes == 500));
  if (!refused.empty()) CHECK(refused.front().kind() == ErrorKind::CapacityExceeded);
}

TEST_CASE("200 clients that never read cost one copy of what is broadcast", "[BIND-10]") {
  GatewayFixture gateway({.outbound_bytes = 64 * 1024}, {.socket_buffer_bytes = 8 * 1024});
  std::vector<SimStreamClient> sloths;
  std::vector<std::string> actors;
  for (int i = 0; i < 200; ++i) {
    actors.push_back("actor-" + std::to_string(i));
    sloths.push_back(gateway.connect_bound("sloth-" + std::to_string(i), {actors.back()}));
    sloths.back().stop_reading();
  }
  SimStreamClient reader = gateway.connect_bound("reader", {"good"});
  int broadcasts = 0;
  while (gateway.server->metrics().closed_slow.value() < 200 && broadcasts < 400) {
    const Message notice = Message::of(chat::Notice{.number = broadcasts, .text = text_of(1000)});
    for (const std::string& actor : actors) {
      if (gateway.bindings.actor(actor).binding) {
        static_cast<void>(gateway.bindings.push(actor, notice));
      }
    }
    const Instant sent = gateway.world.now();
    const auto before = reader.pushes_received();
    REQUIRE(gateway.bindings.push("good", notice));
    gateway.wait_for([&] { return reader.pushes_received() == before + 1; });
    // The others' latency does not change.
    CHECK(gateway.world.now() - sent <= 20ms);
    ++broadcasts;
  }
  CHECK(broadcasts < 200);
  gateway.wait_for([&] { return gateway.server->session_count() == 1; });
  CHECK(reader.is_open());
}

TEST_CASE("what a turn past its admission deadline said is held back with it, and no more") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  struct Holding final : runtime::Admission {
    bool is_open(Instant) override { return is_admitted; }
    void park(runtime::Gate&, Instant) override {}
    void hold_flush(runtime::FlushList list, Instant) override { held = std::move(list); }
    bool is_admitted = true;
    runtime::FlushList held;
  } admission;
  struct Cell final : runtime::RefCounted {
    explicit Cell(runtime::Gate& gate) : mailbox(*this, gate) {}
    runtime::Mailbox mailbox;
  };
  struct Pusher final : runtime::Job {
    explicit Pusher(std::function<void()> its_body) : body(std::move(its_body)) {}
    Task<void> run(runtime::Turn&) override {
      body();
      return {};
    }
    void finished(runtime::Turn&, std::exception_ptr) override {}
    void refuse(const Error&) override {}
    std::function<void()> body;
  };
  const auto gate = runtime::make_ref<runtime::Gate>(gateway.node.gate_environment(&admission));
  const auto cell = runtime::make_ref<Cell>(*gate);
  const auto on_actor_turn = [&](std::function<void()> body) {
    REQUIRE(
        cell->mailbox.push(runtime::Lane::Application, std::make_unique<Pusher>(std::move(body))));
    gateway.run_for(100ms);
  };
  on_actor_turn([&] {
    REQUIRE(gateway.push("player", chat::Notice{.number = 1}));
    admission.is_admitted = false;
  });
  CHECK(client.pushes_received() == 0);
  // The session's own turns know no admission.
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{}));
  CHECK(client.pushes_received() == 0);

  admission.is_admitted = true;
  SECTION("a renewal lets it leave") {
    for (const auto& each : admission.held) each->flush();
    gateway.wait_for([&] { return client.pushes_received() == 1; });
  }
  SECTION("a fence drops it") { admission.held.clear(); }
  on_actor_turn([&] { REQUIRE(gateway.push("player", chat::Notice{.number = 2})); });
  gateway.wait_for([&] { return client.pushes_received() >= 1; });
  CHECK(client.is_open());
}

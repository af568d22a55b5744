// The gateway on real threads: links, gates, pushes, replies, take-overs and ends all at once.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/session.hpp>

#include "chat.packets.hpp"
#include "objects/objects_node.hpp"
#include "runtime/strand.hpp"
#include "stream/stream_server.hpp"
#include "support/manual_time.hpp"
#include "support/small_pool.hpp"
#include "testing/sim_store.hpp"
#include "wire/length_prefix.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/websocket.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;
using namespace std::chrono_literals;

namespace {

constexpr int actor_count = 6;

ActorRef actor_ref(std::uint64_t number) {
  return {*ActorId::parse("actor-" + std::to_string(number)), {1}, "play", {"n"}};
}

struct Totals {
  std::atomic<int> connected{0};
  std::atomic<int> disconnected{0};
  std::atomic<int> replaced{0};
};

class StormSession final : public Session {
 public:
  StormSession(SessionContext& context, Totals& totals) : Session(context), totals_(totals) {}
  static void handlers(SessionHandlers<StormSession>& on) {
    on.request(&StormSession::echo);
    on.send(&StormSession::say);
    on.request(&StormSession::bind);
  }
  Task<void> on_connect() override {
    ++totals_.connected;
    co_return;
  }
  Task<void> on_disconnect(const DisconnectReason&) override {
    ++totals_.disconnected;
    co_return;
  }
  Task<void> on_replaced(const ActorRef&) override {
    ++totals_.replaced;
    static_cast<void>(context().send(chat::Notice{.text = "elsewhere"}));
    co_return;
  }
  chat::Echoed echo(const chat::Echo& packet) { return {.text = packet.text}; }
  void say(const chat::Say& packet) {
    if (packet.text == "bye") context().close("as you wish");
  }
  Task<Result<chat::Done>> bind(const chat::Bind& packet) {
    for (const std::string& id : packet.actors) {
      auto bound = co_await context().bind({*ActorId::parse(id), {1}, "play", {"n"}});
      if (!bound) co_return fail(bound.error());
    }
    co_return chat::Done{};
  }

 private:
  Totals& totals_;
};

// Actors that are bound and talked to from any thread.
class StormBindings final : public objects::Bindings {
 public:
  explicit StormBindings(runtime::Strand& strand) : strand_(strand) {}
  void set_routes(objects::SessionRoutes& routes) { routes_ = &routes; }

  void bind(const ActorRef& actor, objects::BindingIdentity binding,
            std::function<void(Result<void>)> done) override {
    strand_.post([this, actor, binding, done = std::move(done)] {
      std::optional<objects::BindingIdentity> old;
      {
        std::lock_guard lock(mutex_);
        auto& present = bound_[actor.actor_id.text()];
        old = std::exchange(present, binding);
      }
      if (old && old->session != binding.session) routes_->on_replaced(*old, actor);
      done({});
    });
  }
  void unbind(const ActorId&, objects::BindingIdentity,
              std::function<void(Result<void>)> done) override {
    strand_.post([done = std::move(done)] { done({}); });
  }
  void session_ended(const ActorId& actor, objects::BindingIdentity binding) override {
    std::lock_guard lock(mutex_);
    if (bound_[actor.text()] == binding) bound_[actor.text()].reset();
  }
  Result<void> relay(const ActorId& actor, const objects::BindingIdentity& binding, Message&&,
                     std::optional<Instant>,
                     const std::shared_ptr<objects::ReplyFunction>& reply) override {
    {
      std::lock_guard lock(mutex_);
      if (bound_[actor.text()] != binding) return fail(Error::invalid_operation("stale"));
      // Every now and then its mailbox is full.
      if (++relays_ % 7 == 0) return fail(Error::capacity_exceeded("full"));
    }
    if (reply) strand_.post([reply] { reply->call(Message::of(chat::Moved{})); });
    return {};
  }
  std::optional<objects::BindingIdentity> binding_of(const ActorId& actor) {
    std::lock_guard lock(mutex_);
    return bound_[actor.text()];
  }

 private:
  runtime::Strand& strand_;
  objects::SessionRoutes* routes_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::optional<objects::BindingIdentity>> bound_;
  int relays_ = 0;
};

// A link whose client is the thread that drives it.
class StormLink final : public ClientLink {
 public:
  void send_batch(std::span<SharedBytes> batch) override {
    std::lock_guard lock(mutex_);
    for (const SharedBytes& bytes : batch) unsent_ += bytes.size();
  }
  std::size_t unsent_bytes() const override {
    std::lock_guard lock(mutex_);
    return unsent_;
  }
  void pause_reading() override { set(is_paused_, true); }
  void resume_reading() override { set(is_paused_, false); }
  void close_after_flush() override { set(is_ending_, true); }
  void abort() override { set(is_ending_, true); }

  void read_all() {
    std::lock_guard lock(mutex_);
    unsent_ = 0;
  }
  // Until the server reads; false when the link is to end.
  bool wait_until_read() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_paused_ || is_ending_; });
    return !is_ending_;
  }
  void wait_until_ending() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_ending_; });
  }

 private:
  void set(bool& flag, bool value) {
    std::lock_guard lock(mutex_);
    flag = value;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t unsent_ = 0;
  bool is_paused_ = false;
  bool is_ending_ = false;
};

Bytes text_frame(std::string_view text) {
  Bytes frame;
  wire::append_frame(frame, wire::WebSocketOpcode::Text, as_bytes(text), wire::MaskKey{});
  return frame;
}

// What a client says at step `step` of its connection.
Bytes next_words(std::uint64_t step, Random& random) {
  const std::string seq = R"(,"seq":)" + std::to_string(step + 1);
  const std::string actor = "actor-" + std::to_string(random_below(random, actor_count));
  if (step == 0) {
    return text_frame(R"({"packet":"chat.Bind","payload":{"actors":[")" + actor + "\"]}" + seq +
                      "}");
  }
  switch (random_below(random, 100)) {
    case 0:
      return text_frame(R"({"packet":"chat.Say","payload":{"text":"bye"}})");
    case 1:
      return text_frame("garbage");
    case 2:
      return text_frame(R"({"packet":"no.Such"})");
    default:
      break;
  }
  switch (step % 4) {
    case 0:
      return text_frame(R"({"packet":"chat.Echo","payload":{"text":"x"})" + seq + "}");
    case 1:
      return text_frame(R"({"packet":"chat.Move","payload":{"number":1})" + seq + "}");
    case 2:
      return text_frame(R"({"packet":"chat.Move","payload":{"number":2}})");
    default:
      return text_frame(R"({"packet":"chat.Say","payload":{"text":"hey"}})");
  }
}

// One connection from accept to end.
void live_one_connection(StreamServer& server, Random& random) {
  StormLink link;
  LinkInfo info;
  info.subprotocol = "spotmesh.v1.json";
  auto accepted = server.on_link(link, info);
  if (!accepted) return;
  std::shared_ptr<ClientLinkHandler> handler = *std::move(accepted);
  const bool reads = random_below(random, 8) != 0;
  for (std::uint64_t step = 0; step < 60 && link.wait_until_read(); ++step) {
    handler->on_bytes(next_words(step, random));
    if (reads) link.read_all();
  }
  if (random_below(random, 2) == 0) {
    Bytes close;
    wire::append_close_frame(close, wire::CloseCode::Normal, "bye", wire::MaskKey{});
    if (link.wait_until_read()) handler->on_bytes(close);
    link.wait_until_ending();
  }
  handler->on_closed("over");
}

Bytes tcp_frame(const wire::BinaryFrame& frame) {
  Bytes bytes;
  wire::append_length_prefix(
      bytes, static_cast<std::uint32_t>(wire::binary_header_bytes + frame.body.size()));
  wire::append_binary_frame(bytes, frame);
  return bytes;
}

// One connection that begins with a Hello, or with less; whether it was taken.
bool live_one_tcp_connection(StreamServer& server, Random& random) {
  StormLink link;
  LinkInfo info;
  info.framing = LinkInfo::Framing::LengthPrefixed;
  auto accepted = server.on_link(link, info);
  if (!accepted) return false;
  const std::shared_ptr<ClientLinkHandler> handler = *std::move(accepted);
  const Bytes body = wire::write_stream_hello({});
  const Bytes hello = tcp_frame({.kind = wire::BinaryKind::Hello, .body = body});
  const Bytes text = PacketTraits<chat::Say>::encode(chat::Say{.text = "hey"});
  const Bytes say = tcp_frame({.kind = wire::BinaryKind::OneWay,
                               .packet = PacketTraits<chat::Say>::descriptor().id,
                               .body = text});
  switch (random_below(random, 4)) {
    case 0:
      link.wait_until_ending();  // too late, or pushed out
      break;
    case 1:
      handler->on_bytes(say);
      link.wait_until_ending();
      break;
    default:
      handler->on_bytes(ByteView(hello).first(10));
      handler->on_bytes(ByteView(hello).subspan(10));
      for (int n = 0; n < 20 && link.wait_until_read(); ++n) handler->on_bytes(say);
      break;
  }
  handler->on_closed("over");
  return true;
}

struct QuietLog final : LogSink {
  bool is_enabled(LogLevel) const override { return false; }
  void write(LogLevel, std::string_view, std::string, std::vector<LogField>) override {}
};
struct NoEvents final : EventSink {
  void emit(Event) override {}
};
struct SharedRandom final : Random {
  std::uint64_t next_u64() override {
    std::lock_guard lock(mutex);
    return random.next_u64();
  }
  std::mutex mutex;
  spotmesh::testing::TestRandom random{7};
};

struct NoWorkers final : runtime::Workers {
  Result<void> post(Pool, std::function<void()>) override {
    return fail(Error::capacity_exceeded("no workers"));
  }
};

// A gateway on real threads, with everything that it is made of.
class StormGateway {
 public:
  StormGateway()
      : frozen_(with_sessions(application_, totals_)),
        store_(store_time_, store_random_),
        store_client_(store_.connect("n")),
        timers_(clock_),
        pool_(std::in_place, 3U),
        strand_(*pool_),
        actors_(*pool_),
        node_(frozen_, objects::new_identity("n", random_), {},
              {.clock = clock_,
               .scheduler = *pool_,
               .timers = timers_,
               .workers = workers_,
               .store = *store_client_,
               .random = random_,
               .log = log_,
               .events = events_}),
        bindings_(actors_),
        server_(
            std::in_place, frozen_, *frozen_.streams().front(), node_.identity(),
            StreamSeams{.clock = clock_,
                        .scheduler = *pool_,
                        .timers = timers_,
                        .strand = strand_,
                        .random = random_,
                        .log = log_,
                        .events = events_,
                        .bindings = bindings_},
            [this](const SessionId& session) { return node_.new_session_caller(session); },
            StreamOptions{.outbound_bytes = 4096,
                          .slow_reader_time = 1ms,
                          .inbound_jobs = 8,
                          .handshake_timeout = 2ms,
                          .handshakes = 3,
                          .replaced_close_delay = 1ms}) {
    bindings_.set_routes(*server_);
  }

  StreamServer& server() { return *server_; }
  StormBindings& bindings() { return bindings_; }
  const Totals& totals() const { return totals_; }
  // Whether the server said in time that it has stopped.
  bool stop() {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_stopped = false;
    server_->stop("over", [&] {
      std::lock_guard lock(mutex);
      is_stopped = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 30s, [&] { return is_stopped; });
  }
  void end_threads() { pool_.reset(); }

 private:
  static const Application& with_sessions(Application& application, Totals& totals) {
    application.packets(chat::packets());
    application.stream("gateway").session<StormSession>(
        [&totals](SessionFactory<StormSession>& factory) {
          factory.create_with([&totals](SessionContext& context) {
            return std::make_unique<StormSession>(context, totals);
          });
        });
    return application;
  }

  Totals totals_;
  Application application_;
  const objects::FrozenApplication frozen_;
  spotmesh::testing::SteadyClock clock_;
  QuietLog log_;
  NoEvents events_;
  SharedRandom random_;
  NoWorkers workers_;
  spotmesh::testing::ManualTime store_time_;
  spotmesh::testing::TestRandom store_random_{1};
  spotmesh::testing::SimStore store_;
  const std::unique_ptr<spotmesh::testing::SimStore::Client> store_client_;
  spotmesh::testing::ThreadTimers timers_;
  std::optional<spotmesh::testing::SmallPool> pool_;
  runtime::Strand strand_;
  runtime::Strand actors_;
  // Never started: the sessions' contexts need it to exist.
  objects::ObjectsNode node_;
  StormBindings bindings_;
  std::optional<StreamServer> server_;
};

// Pushes, disconnects and forgets Actors until told to end.
void push_without_end(StormGateway& gateway, const std::atomic<bool>& is_over) {
  for (std::uint64_t n = 0; !is_over; ++n) {
    const ActorRef actor = actor_ref(n % actor_count);
    const auto binding = gateway.bindings().binding_of(actor.actor_id);
    if (!binding) continue;
    const Message notice = Message::of(chat::Notice{.text = std::string(100, 'n')});
    static_cast<void>(gateway.server().push(*binding, notice));
    if (n % 500 == 0) gateway.server().disconnect(*binding, "enough");
    if (n % 701 == 0) gateway.server().on_actor_gone(*binding, actor.actor_id);
  }
}

}  // namespace

TEST_CASE("a storm of clients, pushes, take-overs and ends on many threads leaves nothing behind") {
  constexpr unsigned client_threads = 4;
  constexpr int connections_per_thread = 40;
  StormGateway gateway;
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < client_threads; ++i) {
    clients.emplace_back([&gateway, i] {
      spotmesh::testing::TestRandom own(i);
      for (int n = 0; n < connections_per_thread; ++n) live_one_connection(gateway.server(), own);
    });
  }
  std::atomic<bool> is_over{false};
  std::thread pusher([&] { push_without_end(gateway, is_over); });
  for (std::thread& client : clients) client.join();
  is_over = true;
  pusher.join();

  REQUIRE(gateway.stop());
  CHECK(gateway.server().session_count() == 0);
  CHECK(gateway.totals().connected == client_threads * connections_per_thread);
  CHECK(gateway.totals().disconnected == gateway.totals().connected);
  CHECK(gateway.server().metrics().sessions.value() == 0);
  gateway.end_threads();
}

TEST_CASE(
    "handshakes that come, expire, push each other out and are stopped leave nothing behind") {
  constexpr unsigned client_threads = 4;
  StormGateway gateway;
  std::atomic<int> taken{0};
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < client_threads; ++i) {
    clients.emplace_back([&gateway, &taken, i] {
      spotmesh::testing::TestRandom own(i);
      while (live_one_tcp_connection(gateway.server(), own)) ++taken;
    });
  }
  const StreamMetrics& metrics = gateway.server().metrics();
  while (taken < 400) std::this_thread::yield();
  // In the middle of it.
  REQUIRE(gateway.stop());
  for (std::thread& client : clients) client.join();

  CHECK(metrics.handshakes.value() == 0);
  CHECK(metrics.handshakes_expired.value() > 0);
  CHECK(metrics.handshakes_refused.value() > 0);
  REQUIRE(gateway.stop());
  CHECK(gateway.server().session_count() == 0);
  CHECK(gateway.totals().connected > 0);
  CHECK(gateway.totals().disconnected == gateway.totals().connected);
  gateway.end_threads();
}

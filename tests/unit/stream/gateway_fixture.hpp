// A gateway in the simulator: real sessions, links, protocol and clients; of the objects side only
// what it says to a gateway.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/session.hpp>
#include <spotmesh/testing/sim_stream_client.hpp>

#include "chat.packets.hpp"
#include "objects/frozen_application.hpp"
#include "objects/objects_node.hpp"
#include "runtime/completion.hpp"
#include "runtime/strand.hpp"
#include "stream/stream_server.hpp"
#include "support/binding_double.hpp"
#include "testing/sim_client_links.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"
#include "testing/stream_client_end.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/websocket.hpp"

namespace spotmesh::stream {

using namespace std::chrono_literals;
using spotmesh::testing::BindingDouble;
using spotmesh::testing::ClientClose;
using spotmesh::testing::SimClientLinks;
using spotmesh::testing::SimNode;
using spotmesh::testing::SimOutcome;
using spotmesh::testing::SimStreamClient;
using spotmesh::testing::SimWorld;

class ChatSession;

// What the sessions of a test do and have seen.
struct Script {
  std::vector<std::string> seen;  // callbacks and one-way packets, in order, of all sessions
  std::map<std::string, ChatSession*> living;  // by remote address
  std::function<Task<void>(ChatSession&)> on_connect;
  std::function<Task<void>(ChatSession&, const DisconnectReason&)> on_disconnect;
  std::function<Task<void>(ChatSession&)> on_replaced;
  std::function<Task<void>(ChatSession&)> on_actor_gone;
  std::function<Task<Result<chat::Echoed>>(ChatSession&, const chat::Echo&)> on_echo;
  std::function<Task<Result<void>>(ChatSession&, const chat::Say&)> on_say;
  bool factory_throws = false;

  void note(std::string what) { seen.push_back(std::move(what)); }
};

class ChatSession final : public Session {
 public:
  ChatSession(SessionContext& context, Script& script) : Session(context), script_(script) {
    if (script_.factory_throws) throw std::runtime_error("no session today");
    script_.living[name()] = this;
  }
  ~ChatSession() override { script_.living.erase(name()); }

  static void handlers(SessionHandlers<ChatSession>& on) {
    on.request(&ChatSession::echo);
    on.send(&ChatSession::say);
    on.request(&ChatSession::bind);
    on.request(&ChatSession::unbind);
  }

  std::string name() const { return std::string(context().remote_address()); }

  Task<void> on_connect() override {
    script_.note(name() + " connected");
    if (script_.on_connect) co_await script_.on_connect(*this);
  }
  Task<void> on_disconnect(const DisconnectReason& reason) override {
    script_.note(name() + " disconnected: " + reason.text);
    last_reason = reason.kind;
    if (script_.on_disconnect) co_await script_.on_disconnect(*this, reason);
  }
  Task<void> on_error(const Error& error) override {
    script_.note(name() + " error: " + to_string(error));
    co_return;
  }
  Task<void> on_replaced(const ActorRef& actor) override {
    script_.note(name() + " lost " + actor.actor_id.text());
    if (script_.on_replaced) co_await script_.on_replaced(*this);
  }
  Task<void> on_actor_gone(const ActorRef& actor) override {
    script_.note(name() + " hears that " + actor.actor_id.text() + " is gone");
    if (script_.on_actor_gone) co_await script_.on_actor_gone(*this);
  }

  Task<Result<chat::Echoed>> echo(const chat::Echo& packet) {
    if (script_.on_echo) co_return co_await script_.on_echo(*this, packet);
    co_return chat::Echoed{.text = packet.text};
  }
  Task<Result<void>> say(const chat::Say& packet) {
    script_.note(name() + " says " + packet.text);
    if (script_.on_say) co_return co_await script_.on_say(*this, packet);
    co_return Result<void>();
  }
  Task<Result<chat::Done>> bind(const chat::Bind& packet) {
    for (const std::string& actor : packet.actors) {
      auto bound = co_await context().bind(BindingDouble::ref_of(actor));
      if (!bound) co_return fail(bound.error());
    }
    co_return chat::Done{};
  }
  Task<Result<chat::Done>> unbind(const chat::Unbind& packet) {
    auto unbound = co_await context().unbind(*ActorId::parse(packet.actor));
    if (!unbound) co_return fail(unbound.error());
    co_return chat::Done{};
  }

  DisconnectReason::Kind last_reason{};

 private:
  Script& script_;
};

struct LogLines final : LogSink {
  bool is_enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view, std::string message,
             std::vector<LogField>) override {
    all.push_back(message);
    if (level >= LogLevel::Warning) lines.push_back(std::move(message));
  }
  // How many lines of any level have this in them.
  std::size_t told(std::string_view what) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const std::string& line) { return line.find(what) != std::string::npos; }));
  }
  std::vector<std::string> lines;  // warnings and errors
  std::vector<std::string> all;
};

class GatewayFixture {
 public:
  explicit GatewayFixture(StreamOptions stream_options = {},
                          spotmesh::testing::LinkConditions conditions = {},
                          std::uint64_t seed = 1);
  ~GatewayFixture();

  // A client that has connected and whose connect callback has run.
  SimStreamClient connect(const std::string& name = "client");
  // The same, bound to these Actors, which are made if there are none.
  SimStreamClient connect_bound(const std::string& name, const std::vector<std::string>& actors);

  // Runs until `is_done`; fails the test when that does not come within a virtual minute.
  void wait_for(const std::function<bool()>& is_done);
  void wait_for_close(const SimStreamClient& client) {
    wait_for([&] { return !client.is_open(); });
  }
  // A request and its answer.
  template <Packet Reply, Packet P>
  Result<Reply> ask(SimStreamClient& client, const P& packet) {
    std::optional<Result<Reply>> answer;
    client.request<Reply>(packet, [&](Result<Reply> reply) { answer.emplace(std::move(reply)); });
    wait_for([&] { return answer.has_value(); });
    return *std::move(answer);
  }
  template <Packet P>
  Result<void> push(const std::string& actor, const P& packet) {
    return bindings.push(actor, Message::of(packet));
  }
  bool has_seen(const std::string& what) const;
  std::size_t times_seen(const std::string& what) const;
  void run_for(Duration span) { REQUIRE(world.run_for(span) == SimOutcome::Done); }

  Script script;
  SimWorld world;
  SimNode& node;
  SimClientLinks links;
  spotmesh::testing::SimStore store;
  std::unique_ptr<spotmesh::testing::SimStore::Client> store_client;
  BindingDouble bindings;
  LogLines log;
  Application application;
  std::unique_ptr<objects::FrozenApplication> frozen;
  runtime::Strand strand;
  std::unique_ptr<objects::ObjectsNode> objects;
  std::unique_ptr<StreamServer> server;
  std::shared_ptr<wire::PacketCatalog> client_packets = std::make_shared<wire::PacketCatalog>();
};

}  // namespace spotmesh::stream

// A whole node with a gateway on real sockets, over WebSocket and TCP.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/client/client.hpp>
#include <spotmesh/session.hpp>

#include "chat.packets.hpp"
#include "net/asio_client_links.hpp"
#include "node/node.hpp"
#include "objects/frozen_application.hpp"
#include "support/live_node.hpp"
#include "unit/net/waiting.hpp"

namespace spotmesh::client {

// Echoes, and pushes as often as it is told.
class GateSession final : public Session {
 public:
  using Session::Session;

  static void handlers(SessionHandlers<GateSession>& on) {
    on.request(&GateSession::echo);
    on.send(&GateSession::say);
  }
  Result<chat::Echoed> echo(const chat::Echo& packet) {
    if (packet.text == "no") return fail(Error::rejected("not that"));
    if (packet.text == "bye") context().close("as you wish");
    return chat::Echoed{.text = packet.text};
  }
  // So many notices as the text is long.
  Result<void> say(const chat::Say& packet) {
    for (std::size_t i = 0; i < packet.text.size(); ++i) {
      auto sent = context().send(
          Message::of(chat::Notice{.number = static_cast<int>(i), .text = packet.text}));
      if (!sent) return sent;
    }
    return {};
  }
};

class LiveGateway {
 public:
  explicit LiveGateway(stream::StreamOptions options = {})
      : links_(parts_.pool, parts_.workers, parts_.log) {
    application_.packets(chat::packets());
    application_.stream("gateway").session<GateSession>();
    frozen_.emplace(application_);
    node_.emplace(*frozen_,
                  node::World{.clock = parts_.clock,
                              .scheduler = parts_.pool,
                              .timers = parts_.pool,
                              .workers = parts_.workers,
                              .random = parts_.random,
                              .log = parts_.log,
                              .events = parts_.log,
                              .store = &parts_.store,
                              .client_links = &links_},
                  node::NodeOptions{.objects = {},
                                    .stream = options,
                                    .listen = {},
                                    .tcp_listen = stream::ListenOptions{},
                                    .mesh = {}});
    std::promise<Result<void>> started;
    node_->start([&](Result<void> result) { started.set_value(std::move(result)); });
    REQUIRE(started.get_future().get());
  }
  ~LiveGateway() {
    std::promise<void> stopped;
    node_->stop(std::chrono::seconds(30), [&] { stopped.set_value(); });
    stopped.get_future().wait();
    links_.close();
    parts_.pool.stop();
    parts_.workers.stop();
  }

  // Of each of the three forms.
  std::vector<ClientOptions> all_forms() const {
    const std::string web_socket = "ws://127.0.0.1:" + std::to_string(node_->stream_port());
    const std::string tcp = "tcp://127.0.0.1:" + std::to_string(node_->tcp_port());
    return {{.url = web_socket, .form = Form::Json, .packets = chat::packets()},
            {.url = web_socket, .form = Form::Binary, .packets = chat::packets()},
            {.url = tcp, .packets = chat::packets()}};
  }

 private:
  testing::LiveParts parts_{2};
  net::AsioClientLinks links_;
  Application application_;
  std::optional<objects::FrozenApplication> frozen_;
  std::optional<node::Node> node_;
};

// Polls until it is so; false when the connection ended or it took too long.
template <typename Condition>
bool poll_until(Client& client, Condition is_so) {
  const auto give_up = std::chrono::steady_clock::now() + net::patience;
  while (!is_so()) {
    if (!client.poll(std::chrono::milliseconds(100))) return is_so();
    if (std::chrono::steady_clock::now() > give_up) return false;
  }
  return true;
}

}  // namespace spotmesh::client

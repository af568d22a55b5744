// A listening AsioClientLinks with everything around it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "net/asio_client_links.hpp"
#include "net/thread_workers.hpp"
#include "net/worker_pool.hpp"
#include "support/blocking_client.hpp"
#include "unit/net/recording_handler.hpp"
#include "unit/net/waiting.hpp"

namespace spotmesh::net {

// The key and accept value of RFC 6455, section 1.3.
inline constexpr std::string_view rfc_key = "dGhlIHNhbXBsZSBub25jZQ==";
inline constexpr std::string_view rfc_accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

// A good opening for /stream, with more header lines ("Origin: x\r\n") at its end.
inline std::string upgrade_request(std::string_view more = {}) {
  return "GET /stream HTTP/1.1\r\nHost: game.example\r\nUpgrade: websocket\r\n"
         "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: " +
         std::string(rfc_key) +
         "\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: spotmesh.v1.json\r\n" +
         std::string(more) + "\r\n";
}

class RecordingLog final : public LogSink {
 public:
  bool is_enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view, std::string message,
             std::vector<LogField>) override {
    lines.change([&](auto& all) { all.emplace_back(level, std::move(message)); });
  }

  Watched<std::vector<std::pair<LogLevel, std::string>>> lines;
};

class RecordingAcceptor final : public stream::LinkAcceptor {
 public:
  Result<std::shared_ptr<stream::ClientLinkHandler>> on_link(
      stream::ClientLink& link, const stream::LinkInfo& info) override {
    if (refusal) return fail(*refusal);
    auto handler = std::make_shared<RecordingHandler>(link, info, on_bytes);
    if (on_accepted) on_accepted(link);
    handlers_.change([&](auto& all) { all.push_back(handler); });
    return handler;
  }

  // Waits for the n-th link, counted from 0.
  std::shared_ptr<RecordingHandler> handler(std::size_t n) const {
    REQUIRE(handlers_.wait_until([n](const auto& all) { return all.size() > n; }));
    return handlers_.get()[n];
  }
  std::vector<std::shared_ptr<RecordingHandler>> handlers() const { return handlers_.get(); }

  // To be set before clients connect.
  std::optional<Error> refusal;
  std::function<void(stream::ClientLink&)> on_accepted;
  RecordingHandler::OnBytes on_bytes;

 private:
  Watched<std::vector<std::shared_ptr<RecordingHandler>>> handlers_;
};

struct TestServer {
  explicit TestServer(ClientLinksOptions options = {}, stream::ListenOptions listen_options = {})
      : links(pool, workers, log, options), listen(std::move(listen_options)) {}

  void start() {
    const auto bound = links.listen(listen, acceptor);
    REQUIRE(bound);
    port = *bound;
  }

  testing::BlockingClient connect() const {
    testing::BlockingClient client(port);
    REQUIRE(client.is_open());
    return client;
  }

  // A client whose opening has succeeded.
  testing::BlockingClient open_link() const {
    auto client = connect();
    REQUIRE(client.send(upgrade_request()));
    REQUIRE(client.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    return client;
  }

  WorkerPool pool{{.threads = 2}};
  ThreadWorkers workers{{.cpu_threads = 1, .io_threads = 1}};
  RecordingLog log;
  RecordingAcceptor acceptor;
  AsioClientLinks links;
  stream::ListenOptions listen;
  std::uint16_t port = 0;
};

inline std::vector<SharedBytes> batch_of(std::initializer_list<std::string_view> texts) {
  std::vector<SharedBytes> batch;
  for (const auto text : texts) batch.push_back(SharedBytes::copy_of(as_bytes(text)));
  return batch;
}

}  // namespace spotmesh::net

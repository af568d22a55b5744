// The operators' HTTP server: what it bounds, and that it answers whatever happens.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "net/http_server.hpp"
#include "support/blocking_client.hpp"
#include "unit/net/links_fixture.hpp"
#include "unit/net/waiting.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;
using testing::BlockingClient;

namespace {

class EchoHandler final : public HttpHandler {
 public:
  using Exchange = std::shared_ptr<HttpExchange>;

  void on_request(const RequestHead& request, Exchange exchange) override {
    const std::string_view path = request.path();
    if (path == "/dropped") return;
    if (path == "/kept") return kept.change([&](auto& all) { all.push_back(exchange); });
    const std::size_t bytes = path == "/large" ? 4 * 1024 * 1024 : 0;
    exchange->respond(
        {.status = 200,
         .content_type = "text/plain",
         .body = request.method + " " + request.target + std::string(bytes, 'x') + "\n",
         .headers = {{"X-More", "yes"}}});
  }
  HttpResponse on_no_answer(const RequestHead& request) override {
    return {503, "text/plain", "nobody answered " + request.target + "\n", {}, {}};
  }
  HttpResponse refusal(unsigned status, std::string_view text) override {
    return {status, "text/plain", "refused: " + std::string(text) + "\n", {}, {}};
  }

  Watched<std::vector<Exchange>> kept;
};

struct Server {
  explicit Server(HttpServerOptions options = {}) : http(options, handler, log) {
    const auto bound = http.start();
    REQUIRE(bound.has_value());
    port = *bound;
  }
  BlockingClient connect() const {
    BlockingClient client(port);
    REQUIRE(client.is_open());
    return client;
  }
  EchoHandler::Exchange kept(std::size_t index) {
    REQUIRE(handler.kept.wait_until([&](const auto& all) { return all.size() > index; }));
    return handler.kept.get().at(index);
  }

  RecordingLog log;
  EchoHandler handler;
  HttpServer http;
  std::uint16_t port = 0;
};

std::string get(std::string_view target, std::string_view more = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(more) + "\r\n";
}

std::string ask(BlockingClient& client, std::string_view target) {
  REQUIRE(client.send(get(target)));
  return client.receive_until("\n\r\n") + client.receive_until("\n");
}

bool begins_with(const std::string& text, std::string_view begin) {
  return text.starts_with(begin);
}

}  // namespace

TEST_CASE("requests on one connection are answered in order, also when they come at once") {
  Server server;
  auto client = server.connect();
  client.send(get("/one") + get("/two") + get("/three", "Connection: close\r\n"));
  const std::string all = client.receive_all();
  const auto one = all.find("GET /one\n");
  const auto two = all.find("GET /two\n");
  const auto three = all.find("GET /three\n");
  CHECK(one < two);
  CHECK(two < three);
  CHECK(three != std::string::npos);
  CHECK(all.find("X-More: yes\r\n") != std::string::npos);
  CHECK(all.find("Connection: close\r\n") > two);
}

TEST_CASE("a response to HEAD has the length of the body and no body") {
  Server server;
  auto client = server.connect();
  client.send("HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = client.receive_all();
  CHECK(all.find("Content-Length: 8\r\n") != std::string::npos);
  CHECK(all.ends_with("\r\n\r\n"));
}

TEST_CASE("what is no request, or has a body, is refused in the handler's words") {
  Server server({.head_bytes = 1024});
  for (const auto& [sent, answer] : std::vector<std::pair<std::string, std::string_view>>{
           {"what is this\r\n\r\n", "HTTP/1.1 400"},
           {get("/" + std::string(5000, 'x')), "HTTP/1.1 431"},
           {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413"},
           {"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 413"}}) {
    auto client = server.connect();
    client.send(sent);
    const std::string all = client.receive_all();
    CAPTURE(sent.substr(0, 40), all);
    CHECK(begins_with(all, answer));
    CHECK(all.find("refused: ") != std::string::npos);
    CHECK(all.find("Connection: close") != std::string::npos);
  }
  auto client = server.connect();
  CHECK(begins_with(ask(client, "/still"), "HTTP/1.1 200"));
}

TEST_CASE("a head that takes too long is told so, and a silent connection just ends") {
  Server server({.request_time = 50ms});
  auto silent = server.connect();
  CHECK(silent.receive_all().empty());
  auto slow = server.connect();
  slow.send("GET / HTTP/1.1\r\nHost:");
  CHECK(begins_with(slow.receive_all(), "HTTP/1.1 408"));
}

TEST_CASE("a request that nobody answers is answered all the same") {
  Server server({.answer_time = 100ms});
  auto client = server.connect();
  CHECK(ask(client, "/dropped").find("nobody answered /dropped") != std::string::npos);
  CHECK(ask(client, "/kept").find("nobody answered /kept") != std::string::npos);
  // Too late: the next response on the connection is its own.
  server.kept(0)->respond({200, "text/plain", "late\n", {}, {}});
  CHECK(ask(client, "/next").find("GET /next") != std::string::npos);
}

TEST_CASE("the first response counts, from whatever thread, and also after the server's end") {
  EchoHandler::Exchange exchange;
  {
    Server server;
    auto client = server.connect();
    client.send(get("/kept"));
    exchange = server.kept(0);
    CHECK(exchange->remote_address().starts_with("127.0.0.1:"));
    std::thread([&] {
      exchange->respond({200, "text/plain", "first\n", {}, {}});
      exchange->respond({200, "text/plain", "second\n", {}, {}});
    }).join();
    CHECK(client.receive_until("first\n").ends_with("first\n"));
    client.send(get("/kept"));
    exchange = server.kept(1);
    server.handler.kept.set({});
    server.http.stop();
    CHECK(client.is_closed_by_server());
  }
  exchange->respond({200, "text/plain", "nobody is there\n", {}, {}});
}

TEST_CASE("too many requests at once are refused, those whose client has gone included") {
  Server server({.exchanges = 2, .answer_time = 30s});
  for (std::size_t i = 0; i < 2; ++i) {
    auto client = server.connect();
    client.send(get("/kept"));
    server.kept(i);
    client.reset();
  }
  auto client = server.connect();
  CHECK(begins_with(ask(client, "/full"), "HTTP/1.1 503"));
  server.handler.kept.set({});
  CHECK(begins_with(ask(client, "/room"), "HTTP/1.1 200"));
}

TEST_CASE("one connection too many pushes out the oldest that is not being answered") {
  Server server({.connections = 3, .answer_time = 30s});
  auto asking = server.connect();
  asking.send(get("/kept"));
  const auto exchange = server.kept(0);
  auto idle = server.connect();
  CHECK(begins_with(ask(idle, "/"), "HTTP/1.1 200"));
  auto other = server.connect();
  CHECK(begins_with(ask(other, "/"), "HTTP/1.1 200"));
  auto next = server.connect();
  CHECK(begins_with(ask(next, "/"), "HTTP/1.1 200"));
  CHECK(idle.is_closed_by_server());
  CHECK(begins_with(ask(other, "/"), "HTTP/1.1 200"));
  exchange->respond({200, "text/plain", "answered\n", {}, {}});
  CHECK(asking.receive_until("answered\n").ends_with("answered\n"));
}

TEST_CASE("a client that does not read its response is reset, and holds up nobody") {
  Server server({.write_time = 100ms});
  auto deaf = server.connect();
  deaf.shrink_receive_buffer();
  deaf.send(get("/large"));
  auto client = server.connect();
  CHECK(begins_with(ask(client, "/"), "HTTP/1.1 200"));
  CHECK(deaf.is_closed_by_server());
}

TEST_CASE("a port that is taken is named, and one that was given back is free again") {
  RecordingLog log;
  EchoHandler handler;
  Server first;
  HttpServer second({.port = first.port}, handler, log);
  const auto refused = second.start();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::Unavailable);
  CHECK(refused.error().message().find("127.0.0.1:" + std::to_string(first.port)) !=
        std::string::npos);
  first.http.stop();
  HttpServer third({.port = first.port}, handler, log);
  CHECK(third.start().has_value());
}

// The poll-driven client against the real gateway, in each of the three forms.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <spotmesh/client/client.hpp>

#include "live_gateway.hpp"

using namespace spotmesh;
using namespace spotmesh::client;
using namespace std::chrono_literals;

namespace {

Client opened(const ClientOptions& options) {
  auto client = Client::open(options);
  REQUIRE(client);
  REQUIRE(poll_until(*client, [&] { return client->state() == State::Open; }));
  return std::move(*client);
}

}  // namespace

TEST_CASE("requests, replies, errors and pushes go over every form") {
  LiveGateway gateway;
  for (const ClientOptions& options : gateway.all_forms()) {
    INFO(options.url << (options.form == Form::Json ? " json" : ""));
    auto client = opened(options);
    std::vector<std::string> seen;
    const auto note = [&](const Result<chat::Echoed>& reply) {
      seen.push_back(reply ? reply->text : to_string(reply.error()));
    };
    std::vector<int> notices;
    client.on_push<chat::Notice>(
        [&](const chat::Notice& notice) { notices.push_back(notice.number); });
    for (int i = 0; i < 100; ++i) {
      REQUIRE(client.request<chat::Echoed>(chat::Echo{.text = std::to_string(i)}, note));
    }
    REQUIRE(client.request<chat::Echoed>(chat::Echo{.text = "no"}, note));
    REQUIRE(client.send(chat::Say{.text = "12345"}));
    CHECK(seen.empty());
    CHECK(client.unanswered_requests() == 101);
    REQUIRE(poll_until(client, [&] { return seen.size() == 101 && notices.size() == 5; }));
    for (std::size_t i = 0; i < 100; ++i) CHECK(seen[i] == std::to_string(i));
    CHECK(seen[100] == "Rejected: not that");
    CHECK(notices == std::vector<int>{0, 1, 2, 3, 4});
    CHECK(client.unsent_bytes() == 0);
    CHECK(client.session().empty() == (options.form == Form::Json && options.url[0] == 'w'));
  }
}

TEST_CASE("what is said before the connection is open is sent once it is") {
  LiveGateway gateway;
  for (const ClientOptions& options : gateway.all_forms()) {
    auto client = Client::open(options);
    REQUIRE(client);
    std::string answer;
    REQUIRE(client->request<chat::Echoed>(chat::Echo{.text = "early"},
                                          [&](const auto& reply) { answer = reply.value().text; }));
    CHECK(client->state() == State::Connecting);
    REQUIRE(poll_until(*client, [&] { return !answer.empty(); }));
    CHECK(answer == "early");
  }
}

TEST_CASE("nothing is called but by the thread that polls, and within poll") {
  LiveGateway gateway;
  auto client = opened(gateway.all_forms()[1]);
  const auto poller = std::this_thread::get_id();
  bool is_polling = false;
  int answered = 0;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(client.request<chat::Echoed>(chat::Echo{.text = "x"}, [&](const auto&) {
      CHECK(is_polling);
      CHECK(std::this_thread::get_id() == poller);
      ++answered;
    }));
  }
  const auto give_up = std::chrono::steady_clock::now() + net::patience;
  while (answered < 20 && std::chrono::steady_clock::now() < give_up) {
    is_polling = true;
    REQUIRE(client.poll(10ms));
    is_polling = false;
  }
  CHECK(answered == 20);
}

TEST_CASE("the game's close comes with its code and reason behind what was said before") {
  LiveGateway gateway;
  for (const ClientOptions& options : gateway.all_forms()) {
    auto client = opened(options);
    std::vector<std::string> seen;
    client.on_end([&](const Ending& ending) { seen.push_back(to_string(ending)); });
    REQUIRE(client.request<chat::Echoed>(
        chat::Echo{.text = "bye"}, [&](const auto& reply) { seen.push_back(reply.value().text); }));
    REQUIRE(poll_until(client, [&] { return client.state() == State::Ended; }));
    CHECK(seen == std::vector<std::string>{"bye", "4000 Disconnected: as you wish"});
    CHECK_FALSE(client.poll());
    CHECK(seen.size() == 2);
  }
}

TEST_CASE("a client's own close is answered by the server") {
  LiveGateway gateway;
  for (const ClientOptions& options : gateway.all_forms()) {
    auto client = opened(options);
    std::string echoed;
    REQUIRE(client.request<chat::Echoed>(chat::Echo{.text = "last"}, [&](const auto& reply) {
      echoed = reply ? reply->text : "-";
    }));
    REQUIRE(poll_until(client, [&] { return !echoed.empty(); }));
    REQUIRE(client.close(1000, "done"));
    CHECK(client.state() == State::Closing);
    REQUIRE(poll_until(client, [&] { return client.state() == State::Ended; }));
    CHECK(client.ending()->code == 1000);
    CHECK_FALSE(client.ending()->may_return);
  }
}

TEST_CASE("a client longer silent than the server waits is alive as long as it polls") {
  LiveGateway gateway({.heartbeat_interval = 20ms});
  for (ClientOptions options : gateway.all_forms()) {
    options.heartbeat = 1h;
    auto client = opened(options);
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end) REQUIRE(client.poll(5ms));
    CHECK(client.state() == State::Open);
  }
}

TEST_CASE("a server is kept alive by the client's pings") {
  LiveGateway gateway;
  for (ClientOptions options : gateway.all_forms()) {
    options.heartbeat = 20ms;
    auto client = opened(options);
    const auto end = std::chrono::steady_clock::now() + 200ms;
    while (std::chrono::steady_clock::now() < end) REQUIRE(client.poll(5ms));
    CHECK(client.state() == State::Open);
  }
}

TEST_CASE("whoever cannot be reached says so, with the address") {
  std::uint16_t port = 0;
  {
    LiveGateway gateway;
    const std::string url = gateway.all_forms()[2].url;
    port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  auto client = Client::open({.url = "tcp://127.0.0.1:" + std::to_string(port)});
  REQUIRE(client);
  Ending end;
  client->on_end([&](const Ending& ending) { end = ending; });
  CHECK(poll_until(*client, [&] { return client->state() == State::Ended; }));
  CHECK(end.kind == ErrorKind::Unavailable);
  CHECK_THAT(end.reason, Catch::Contains("127.0.0.1:" + std::to_string(port)));
  CHECK(end.may_return);
}

TEST_CASE("options out of range and hosts without an address are refused at once") {
  CHECK(Client::open({.url = "http://x"}).error().kind() == ErrorKind::InvalidOperation);
  CHECK(Client::open({.message_bytes = 100}).error().kind() == ErrorKind::InvalidOperation);
  CHECK(Client::open({.heartbeat = 0s}).error().kind() == ErrorKind::InvalidOperation);
  const auto nowhere = Client::open({.url = "tcp://256.0.0.1:9"});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().kind() == ErrorKind::Unavailable);
}

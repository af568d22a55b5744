// Clients that mean no good, or do not know better.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "unit/net/links_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;
using testing::BlockingClient;
namespace fs = std::filesystem;

namespace {

class WebDirectory {
 public:
  WebDirectory() {
    std::string pattern = (fs::temp_directory_path() / "spotmesh-web-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    write("index.html", "<p>play");
    write("large.bin", std::string(32 * 1024 * 1024, 'x'));
  }
  ~WebDirectory() { fs::remove_all(root_); }

  std::string path() const { return root_.string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

 private:
  fs::path root_;
};

std::string get(std::string_view target, std::string_view more = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(more) + "\r\n";
}

// Waits a moment for the server to answer; whether it has.
bool is_answered_within(const BlockingClient& client, std::chrono::milliseconds time) {
  pollfd waiting{client.descriptor(), POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(time.count())) == 1;
}

}  // namespace

TEST_CASE("a head without end is refused at its limit") {
  TestServer server({.request_head_bytes = 2048});
  server.start();
  for (const std::string& begin :
       {std::string("GET /stream HTTP/1.1\r\n"), std::string("GET /stream HTTP/1.1\r\nA: "),
        std::string("GET /"), std::string("GET"), std::string()}) {
    auto client = server.connect();
    client.send(begin);
    const bool is_in_lines = begin.ends_with("\r\n");
    // The server may have closed already; what it said arrives all the same.
    for (int i = 0; i < 100 && !is_answered_within(client, 0ms); ++i) {
      client.send(is_in_lines ? "X-Padding: " + std::string(88, 'x') + "\r\n"
                              : std::string(100, 'x'));
    }
    const auto answer = client.receive_all();
    INFO(begin << " -> " << answer);
    CHECK((answer.starts_with("HTTP/1.1 431 ") || answer.starts_with("HTTP/1.1 400 ")));
  }
  auto large = server.connect();
  large.send("GET / HTTP/1.1\r\nHost: x\r\nCookie: " + std::string(3000, 'c') + "\r\n\r\n");
  const auto answer = large.receive_all();
  CHECK(answer.starts_with("HTTP/1.1 431 "));
  CHECK(answer.find("at most 2048 bytes") != std::string::npos);
  CHECK(server.acceptor.handlers().empty());
}

TEST_CASE("a head that comes a byte at a time is cut off at its time") {
  TestServer server({.opening_time = 150ms});
  server.start();
  // The server's time begins while connect() is still returning.
  const auto began = std::chrono::steady_clock::now();
  auto client = server.connect();
  for (const char byte : upgrade_request()) {
    client.send({&byte, 1});
    if (is_answered_within(client, 5ms)) break;
  }
  const auto answer = client.receive_all();
  CHECK(answer.starts_with("HTTP/1.1 408 "));
  CHECK(std::chrono::steady_clock::now() - began >= 150ms);
  CHECK(server.acceptor.handlers().empty());
  while (server.links.connections() != 0) std::this_thread::yield();
}

TEST_CASE("a connection that says nothing is closed without a word") {
  TestServer server({.opening_time = 50ms});
  server.start();
  auto client = server.connect();
  CHECK(client.receive_all().empty());
  while (server.links.connections() != 0) std::this_thread::yield();
}

TEST_CASE("what is no HTTP is refused, and the server goes on") {
  TestServer server;
  server.start();
  using namespace std::string_literals;
  for (const std::string& garbage :
       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s + std::string(50, '\x7f'),
        "\0\0\0\0\0\0\0\0"s, "\xff\xff\xff\xff"s + std::string(20, '\xff'), "GET\r\n\r\n"s,
        "GET / HTTP/9.9\r\n\r\n"s, "GET  / HTTP/1.1\r\n\r\n"s, "GET /\r\n\r\n"s,
        "GET / HTTP/1.1\r\nno colon\r\n\r\n"s, "GET / HTTP/1.1\r\n: empty\r\n\r\n"s,
        "GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n"s, "GET /\0 HTTP/1.1\r\n\r\n"s,
        "G\xc3\x84T / HTTP/1.1\r\n\r\n"s}) {
    auto client = server.connect();
    client.send(garbage);
    client.finish_sending();
    const auto answer = client.receive_all();
    INFO(garbage);
    CHECK(answer.starts_with("HTTP/1.1 400 "));
  }
  auto client = server.open_link();
  CHECK(server.acceptor.handlers().size() == 1);
}

TEST_CASE("a request for a page names one host, unless it is older than that rule") {
  const WebDirectory web;
  TestServer server({}, {.static_directory = web.path()});
  server.start();
  const auto answer_to = [&](const std::string& request) {
    auto client = server.connect();
    REQUIRE(client.send(request));
    client.finish_sending();
    return client.receive_all();
  };
  for (const char* wrong : {"GET / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.1\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"}) {
    INFO(wrong);
    CHECK(answer_to(wrong).starts_with("HTTP/1.1 400 "));
  }
  CHECK(answer_to("GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(answer_to("GET / HTTP/1.1\r\nHost:\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("garbage behind a good request is refused after that request is answered") {
  const WebDirectory web;
  TestServer server({}, {.static_directory = web.path()});
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(get("/") + "\x01\x02\x03 garbage\r\n\r\n"));
  const auto answer = client.receive_all();
  CHECK(answer.starts_with("HTTP/1.1 200 "));
  CHECK(answer.find("<p>playHTTP/1.1 400 ") != std::string::npos);
}

TEST_CASE("requests in a row are answered in a row, up to a bound") {
  const WebDirectory web;
  TestServer server({}, {.static_directory = web.path()});
  server.start();
  auto client = server.connect();
  std::string requests;
  for (int i = 0; i < 60; ++i) requests += get("/");
  REQUIRE(client.send(requests));
  for (int i = 0; i < 60; ++i) REQUIRE(client.receive_until("<p>play").ends_with("<p>play"));
  client.send(requests);
  int more = 0;
  while (client.receive_until("<p>play").ends_with("<p>play")) ++more;
  CHECK(more == 40);
}

TEST_CASE("openings beyond the bound push out the oldest, and players still come in") {
  TestServer server({.opening_time = 1h, .openings_at_once = 3});
  server.start();
  std::vector<BlockingClient> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(server.connect());
  while (server.links.connections() != 3) std::this_thread::yield();
  auto player = server.open_link();
  CHECK(silent[0].is_closed_by_server());
  CHECK_FALSE(is_answered_within(silent[2], 0ms));
  // A link is no opening: it is never pushed out.
  for (int i = 0; i < 10; ++i) silent.push_back(server.connect());
  CHECK(silent[1].is_closed_by_server());
  CHECK(silent[2].is_closed_by_server());
  REQUIRE(player.send("here"));
  CHECK(server.acceptor.handler(0)->wait_received("here"));
}

TEST_CASE("a crowd of openings is logged once, and once more when another one comes") {
  TestServer server({.opening_time = 1h, .openings_at_once = 4});
  server.start();
  const auto told = [&] {
    const auto lines = server.log.lines.get();
    return std::count_if(lines.begin(), lines.end(), [](const auto& line) {
      return line.first == LogLevel::Warning &&
             line.second.starts_with("more clients are opening connections than may at once");
    });
  };
  const auto crowd = [&] {
    std::vector<BlockingClient> silent;
    for (int i = 0; i < 10; ++i) silent.push_back(server.connect());
    for (int i = 0; i < 6; ++i) REQUIRE(silent[i].is_closed_by_server());
  };
  crowd();
  CHECK(told() == 1);
  while (server.links.connections() != 0) std::this_thread::yield();
  crowd();
  CHECK(told() == 2);
}

TEST_CASE("files are served with what a browser needs to know") {
  const WebDirectory web;
  TestServer server({}, {.static_directory = web.path()});
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(get("/?from=mail")));
  const auto head = client.receive_until("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  for (const auto* line : {"Content-Type: text/html; charset=utf-8\r\n", "Content-Length: 7\r\n",
                           "Cache-Control: no-cache\r\n", "X-Content-Type-Options: nosniff\r\n",
                           "Connection: keep-alive\r\n"}) {
    CHECK(head.find(line) != std::string::npos);
  }
  CHECK(client.receive_exactly(7) == "<p>play");

  const auto tag_at = head.find("ETag: ") + 6;
  const auto tag = head.substr(tag_at, head.find("\r\n", tag_at) - tag_at);
  REQUIRE(client.send(get("/", "If-None-Match: " + tag + "\r\n")));
  CHECK(client.receive_until("\r\n\r\n").starts_with("HTTP/1.1 304 "));

  REQUIRE(client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK(client.receive_until("\r\n\r\n").find("Content-Length: 7\r\n") != std::string::npos);

  REQUIRE(client.send(get("/missing", "Connection: close\r\n")));
  const auto missing = client.receive_all();
  CHECK(missing.starts_with("HTTP/1.1 404 Not Found\r\n"));
  CHECK(missing.ends_with("there is no such page\n"));
}

TEST_CASE("a large file arrives whole") {
  const WebDirectory web;
  TestServer server({}, {.static_directory = web.path()});
  server.start();
  auto client = server.connect();
  REQUIRE(client.send(get("/large.bin", "Connection: close\r\n")));
  client.receive_until("\r\n\r\n");
  CHECK(client.receive_all() == std::string(32 * 1024 * 1024, 'x'));
}

TEST_CASE("a client that asks for a file and does not read it is cut off at its time") {
  const WebDirectory web;
  TestServer server({.response_time = 100ms}, {.static_directory = web.path()});
  server.start();
  auto client = server.connect();
  client.shrink_receive_buffer();
  REQUIRE(client.send(get("/large.bin")));
  REQUIRE(
      is_answered_within(client, std::chrono::duration_cast<std::chrono::milliseconds>(patience)));
  while (server.links.connections() != 0) std::this_thread::yield();
  CHECK(client.receive_all().size() < 32 * 1024 * 1024);
}

TEST_CASE("paths that try to leave the directory are not found") {
  const WebDirectory web;
  TestServer server({}, {.static_directory = web.path()});
  server.start();
  auto client = server.connect();
  for (const auto* target : {"/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                             "/..%5c..%5cetc/passwd", "http://x/../etc/passwd"}) {
    REQUIRE(client.send(get(target)));
    const auto head = client.receive_until("\r\n\r\n");
    INFO(target << " -> " << head);
    CHECK(head.starts_with("HTTP/1.1 404 "));
    client.receive_until("page\n");
  }
}

TEST_CASE("methods that change something are refused") {
  TestServer server;
  server.start();
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"}) {
    auto client = server.connect();
    client.send(std::string(method) + " / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    const auto answer = client.receive_all();
    INFO(method << " -> " << answer);
    CHECK(answer.starts_with("HTTP/1.1 405 "));
    CHECK(answer.find("Allow: GET, HEAD\r\n") != std::string::npos);
  }
}

namespace {

// A server with few descriptors to its name. Says its port on `out`, ends when `in` is closed.
int run_poor_server(int in, int out) {
  TestServer server;
  const auto bound = server.links.listen(server.listen, server.acceptor);
  if (!bound || write(out, &*bound, sizeof(*bound)) != sizeof(*bound)) return 1;
  const int next_descriptor = dup(in);
  const rlimit few{static_cast<rlim_t>(next_descriptor + 8),
                   static_cast<rlim_t>(next_descriptor + 8)};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
  close(next_descriptor);
  if (write(out, "r", 1) != 1) return 3;
  char ignored = 0;
  while (read(in, &ignored, 1) > 0) continue;
  const auto lines = server.log.lines.get();
  const auto errors = std::count_if(lines.begin(), lines.end(),
                                    [](const auto& line) { return line.first == LogLevel::Error; });
  if (errors != 1) return 4;
  return server.log.lines.get().back().second == "clients are accepted again" ? 0 : 5;
}

}  // namespace

TEST_CASE("out of descriptors, the server says so once and takes clients again when others go") {
  int to_child[2];
  int from_child[2];
  REQUIRE(pipe(to_child) == 0);
  REQUIRE(pipe(from_child) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(to_child[1]);
    close(from_child[0]);
    _exit(run_poor_server(to_child[0], from_child[1]));
  }
  close(to_child[0]);
  close(from_child[1]);
  std::uint16_t port = 0;
  char ready = 0;
  REQUIRE(read(from_child[0], &port, sizeof(port)) == sizeof(port));
  REQUIRE(read(from_child[0], &ready, 1) == 1);

  // The system completes these connections whether or not the server accepts them.
  std::vector<BlockingClient> crowd;
  for (int i = 0; i < 20; ++i) crowd.emplace_back(port);
  BlockingClient player(port);
  REQUIRE(player.send(upgrade_request()));
  CHECK_FALSE(is_answered_within(player, 250ms));
  crowd.clear();
  CHECK(player.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));

  close(to_child[1]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  close(from_child[0]);
}

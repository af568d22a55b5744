// The admin endpoint's answers when the node is well, and when none of its threads is.
#include "host/admin.hpp"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/live_node.hpp"

using namespace spotmesh;
using namespace spotmesh::host;
using Catch::Matchers::Contains;

namespace {

class Asked final : public net::HttpExchange {
 public:
  void respond(net::HttpResponse response) override { answer.set_value(std::move(response)); }
  const std::string& remote_address() const override { return address_; }

  std::promise<net::HttpResponse> answer;

 private:
  const std::string address_ = "127.0.0.1:1";
};

// Keeps the only worker thread of its pool.
class StuckTurn final : public runtime::Runnable {
 public:
  After run() override {
    begun.set_value();
    ending.get_future().wait();
    ended.set_value();
    return After::Idle;
  }

  std::promise<void> begun;
  std::promise<void> ending;
  std::promise<void> ended;
};

struct ServedNode {
  ServedNode() {
    app.mesh("play").object_client();
    frozen.emplace(app);
    node.emplace(*frozen,
                 node::World{.clock = clock,
                             .scheduler = pool,
                             .timers = pool,
                             .workers = workers,
                             .random = random,
                             .log = log,
                             .events = events,
                             .store = &store},
                 node::NodeOptions());
    admin.emplace(OwnSeams{.node = *node,
                           .log = log,
                           .events = events,
                           .shut_down = [this](auto deadline) { told.push_back(deadline); }},
                  "");
    std::promise<Result<void>> started;
    node->start([&](Result<void> outcome) { started.set_value(std::move(outcome)); });
    REQUIRE(started.get_future().get().has_value());
  }
  ~ServedNode() {
    std::promise<void> stopped;
    node->stop(std::chrono::seconds(30), [&] { stopped.set_value(); });
    stopped.get_future().wait();
    pool.stop();
    workers.stop();
  }

  static net::RequestHead request(const std::string& method, const std::string& target) {
    return {.method = method, .target = target, .headers = {{"Host", "localhost"}}};
  }
  std::future<net::HttpResponse> ask(const std::string& target, const std::string& method = "GET") {
    auto asked = std::make_shared<Asked>();
    auto answer = asked->answer.get_future();
    admin->on_request(request(method, target), std::move(asked));
    return answer;
  }

  Application app;
  std::optional<objects::FrozenApplication> frozen;
  net::SystemClock clock;
  net::OsRandom random;
  testing::QuietLog log;
  EventRing events{log, clock};
  net::ThreadWorkers workers{{.cpu_threads = 1, .io_threads = 1}};
  net::WorkerPool pool{{.threads = 1}};
  testing::MemoryStore store{pool};
  std::optional<node::Node> node;
  std::optional<Admin> admin;
  std::vector<std::optional<Duration>> told;
};

}  // namespace

TEST_CASE("a node whose only thread is stuck says so, and its counts are told all the same") {
  ServedNode served;
  CHECK(served.ask("/healthz").get().status == 200);
  CHECK_THAT(served.ask("/metrics").get().body, Contains("spotmesh_mesh_node_responsive 1\n"));

  StuckTurn turn;
  served.pool.submit(turn);
  turn.begun.get_future().wait();
  auto health = served.ask("/healthz");
  auto page = served.ask("/v1/actors");
  const auto unanswered = [&](const std::string& target) {
    return served.admin->on_no_answer(ServedNode::request("GET", target));
  };
  CHECK(unanswered("/healthz").status == 503);
  CHECK_THAT(unanswered("/v1/actors").body,
             Contains("has not answered in time") && Contains("its state is Serving"));
  const net::HttpResponse metrics = unanswered("/metrics");
  CHECK(metrics.status == 200);
  CHECK_THAT(metrics.body, Contains("spotmesh_mesh_node_responsive 0\n") &&
                               Contains("spotmesh_object_dispatch_total{result=\"handled\"} 0\n") &&
                               !Contains("spotmesh_mailbox_jobs"));
  CHECK(health.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);

  turn.ending.set_value();
  turn.ended.get_future().wait();
  CHECK(health.get().status == 200);
  CHECK(page.get().status == 200);
}

TEST_CASE("a shutdown is handed on with its deadline, and only when it was asked for rightly") {
  ServedNode served;
  CHECK(served.ask("/v1/shutdown").get().status == 405);
  CHECK(served.ask("/v1/shutdown?deadline=11m", "POST").get().status == 400);
  CHECK(served.ask("/v1/shutdown?deadline=1s&deadline=2s", "POST").get().status == 400);
  CHECK(served.ask("/v1/shutdown?now", "POST").get().status == 400);
  CHECK(served.told.empty());
  CHECK(served.ask("/v1/shutdown", "POST").get().status == 202);
  CHECK(served.ask("/v1/shutdown?deadline=1500ms", "POST").get().status == 202);
  REQUIRE(served.told.size() == 2);
  CHECK_FALSE(served.told[0].has_value());
  CHECK(served.told[1] == std::chrono::milliseconds(1500));
}

TEST_CASE("an Actor is ended where it lives, and only when that was asked for rightly") {
  ServedNode served;
  CHECK(served.ask("/v1/end/actors/ann").get().status == 405);
  CHECK(served.ask("/v1/end/actors/ann?now", "POST").get().status == 400);
  CHECK(served.ask("/v1/end/actors/%ff", "POST").get().status == 400);
  const auto elsewhere = served.ask("/v1/end/actors/a%2Fb", "POST").get();
  CHECK(elsewhere.status == 404);
  CHECK_THAT(elsewhere.body, Contains("nothing lives under Actor 'a/b'"));
}

TEST_CASE("a node without a gateway has no sessions, and tells nothing of clients") {
  ServedNode served;
  CHECK_THAT(served.ask("/v1/sessions").get().body,
             Contains("\"sessions\":[],\"unanswered\":[],\"next\":null"));
  CHECK_THAT(served.ask("/v1/cluster").get().body, Contains("\"sessions\":null"));
  CHECK_THAT(served.ask("/metrics").get().body, !Contains("spotmesh_stream_"));
}

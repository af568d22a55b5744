// Nodes of one process on real threads that speak to each other over links that break.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "../support/live_node.hpp"
#include "crossing_courier.hpp"
#include "crossing_record.hpp"
#include "objects/core.hpp"
#include "objects/router.hpp"

using namespace spotmesh;
using namespace spotmesh::crossing_game;
using namespace std::chrono_literals;
using spotmesh::testing::LiveNode;
using spotmesh::testing::LiveWay;
using spotmesh::testing::LiveWorld;

namespace {

constexpr int rounds = 400;  // of each courier
constexpr int visits = 100;  // of each guest

class Crossing {
 public:
  Crossing(int homes, LiveWay way) : way_(way) {
    for (int home = 0; home < homes; ++home) nodes_.push_back(&start(std::to_string(home)));
    for (int each = 0; each < residents; ++each) settle_down(each);
  }

  void send_off() {
    nodes_.front()->call([](Context& context) -> Task<void> {
      for (int each = 0; each < couriers; ++each) {
        (void)co_await context.actors()
            .send(name_of_resident(each), crossing::Go{.rounds = rounds})
            .submit();
      }
    });
  }
  // While the couriers are on their way: `others` besides, over and over.
  void disturb(const std::function<void()>& others) {
    std::future<void> done = verdict.has_roamed.get_future();
    for (unsigned time = 0; done.wait_for(10ms) != std::future_status::ready; ++time) {
      if (time % 3 == 0) nodes_[time / 3 % nodes_.size()]->cut();
      nodes_[time % nodes_.size()]->objects().core().router->forget_routes();
      others();
    }
  }
  // A node that takes in what comes and goes, asks around, and ends.
  void have_a_guest() {
    LiveNode& guest = start({});
    guest.call([this](Context& context) { return visit(context); });
    guest.stop();
  }
  // All that was said has been heard by then.
  void settle() {
    nodes_.front()->call([this](Context& context) -> Task<void> {
      for (int each = 0; each < residents; ++each) {
        const std::string name = name_of_resident(each);
        auto call = is_courier(each)
                        ? context.actors().request<crossing::Settled>(name, crossing::Settle{})
                        : context.spots().request<crossing::Settled>(name, crossing::Settle{});
        auto settled = co_await std::move(call).timeout(patience).submit();
        if (!settled) verdict.of(each).faults.push_back(to_string(settled.error()));
      }
    });
  }
  // Somebody who goes misses what was being said to him.
  void check(bool do_nodes_go = false) {
    world_.stop();
    for (const std::string& fault : verdict.faults()) FAIL_CHECK(fault);
    CHECK(verdict.misorders.load() == 0);
    CHECK(verdict.stray_deadlines.load() == 0);
    CHECK(verdict.meetings.load() > 0);
    CHECK(verdict.weathers.load() > 0);
    CHECK(world_.errors() == 0);
    for (LiveNode* node : nodes_) {
      const objects::Metrics& metrics = node->objects().metrics();
      CHECK(metrics.requests_in_flight.value() == 0);
      CHECK(metrics.late_replies.value() == 0);
      if (!do_nodes_go) CHECK(metrics.missed_publications.value() == 0);
      CHECK(metrics.unsent_answers.value() == 0);
      CHECK(metrics.unsound_peer_messages.value() == 0);
      CHECK(metrics.callback_throws.value() == 0);
    }
  }

  Verdict verdict;

 private:
  LiveNode& start(const std::string& home) {
    // Links come back soon, and so does the proof that another node lives.
    return world_.start([&](Application& app) { configure(app, verdict, home); },
                        {.objects = {.lease = {.renew_interval = 20ms}},
                         .mesh = {.first_retry = 2ms, .last_retry = 4ms},
                         .way = way_});
  }
  void settle_down(int resident) {
    const std::size_t home = static_cast<std::size_t>(resident) % nodes_.size();
    const std::string type = is_courier(resident) ? "courier-" : "post-";
    nodes_[home]->call([=](Context& context) -> Task<void> {
      const std::string name = name_of_resident(resident);
      const std::string own_type = type + std::to_string(home);
      if (is_courier(resident)) {
        auto made = co_await context.actors().create(name, own_type).timeout(patience).submit();
        if (!made) throw std::runtime_error(to_string(made.error()));
      } else {
        auto made =
            co_await context.spots().get_or_create(name, own_type).timeout(patience).submit();
        if (!made) throw std::runtime_error(to_string(made.error()));
      }
    });
  }
  Task<void> visit(Context& context) {
    for (int i = 0; i < visits; ++i) {
      auto made = co_await context.actors()
                      .get_or_create(fmt::format("wanderer{}", i % wanderers), "wanderer")
                      .timeout(patience)
                      .submit();
      note(made);
      note(co_await context.actors()
               .request<crossing::Answer>(name_of_resident(i % couriers), crossing::Ask{})
               .timeout(patience)
               .submit());
    }
  }
  template <typename T>
  void note(const Result<T>& result) {
    if (!result && !Voice::is_passing(result.error().kind())) verdict.stray_deadlines.fetch_add(1);
  }

  const LiveWay way_;
  LiveWorld world_{4};
  std::vector<LiveNode*> nodes_;
};

}  // namespace

TEST_CASE("two nodes lose, double and reorder nothing between them, however often links break") {
  const LiveWay way = GENERATE(LiveWay::Memory, LiveWay::Sockets);
  Crossing crossing(2, way);
  crossing.send_off();
  crossing.disturb([] {});
  crossing.settle();
  crossing.check();
}

TEST_CASE("nodes that come and go take nothing along of what others say to each other") {
  const LiveWay way = GENERATE(LiveWay::Memory, LiveWay::Sockets);
  Crossing crossing(2, way);
  crossing.send_off();
  crossing.disturb([&] { crossing.have_a_guest(); });
  crossing.settle();
  crossing.check(true);
}

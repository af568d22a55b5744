// The object side of a node on real threads: everything at once, and nothing overlaps.
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../support/live_node.hpp"
#include "../support/scratch_folder.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "storm_game.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

class CountedSessions final : public objects::SessionRoutes {
 public:
  Result<void> push(const objects::BindingIdentity&, const Message&) override {
    pushes.fetch_add(1);
    return {};
  }
  void disconnect(const objects::BindingIdentity&, std::string) override {}
  void on_replaced(const objects::BindingIdentity&, const ActorRef&) override {}
  void on_actor_gone(const objects::BindingIdentity&, const ActorId&) override {}

  std::atomic<int> pushes{0};
};

class Storm {
 public:
  explicit Storm(objects::ObjectsNode& node) : node_(node) {}

  // What went wrong, as text.
  Task<void> roam(Context& context, std::uint64_t client, std::vector<std::string>& faults) {
    std::mt19937_64 random(client);
    for (std::uint64_t i = 0; i <= houses; ++i) {
      note(faults, co_await context.spots()
                       .get_or_create(name_of_spot(i), i < houses ? "house" : "plaza")
                       .timeout(30s)
                       .submit());
    }
    for (int round = 0; round < rounds; ++round) {
      const std::string id = "w" + std::to_string(random() % walkers);
      const std::string house = name_of_spot(random() % (houses + 1));
      auto& actors = context.actors();
      switch (random() % 8) {
        case 0:
        case 1:
          note(faults,
               co_await actors.request<probe::Answer>(id, probe::Ask{}).timeout(30s).submit());
          break;
        case 2:
          note(faults, co_await actors.send(id, probe::Note{}).submit());
          break;
        case 3:
        case 4:
          note(faults, co_await actors
                           .send(id, probe::Wish{.spot = random() % 4 == 0 ? std::string() : house})
                           .submit());
          break;
        case 5:
          note(faults, co_await context.spots()
                           .request<probe::Poked>(house, probe::Poke{.value = round})
                           .timeout(30s)
                           .submit());
          break;
        case 6:
          bind(client, co_await actors.find(id));
          break;
        case 7:
          note(faults, co_await actors.get_or_create(id, "walker").timeout(30s).submit());
          if (random() % 4 == 0) co_await destroy(context, id, faults);
          break;
      }
    }
  }

  static constexpr std::uint64_t walkers = 12;
  static constexpr std::uint64_t houses = 3;
  static constexpr int rounds = 1500;

 private:
  // The houses, and one plaza behind them.
  static std::string name_of_spot(std::uint64_t number) {
    return number < houses ? "h" + std::to_string(number) : std::string("plaza");
  }
  template <typename T>
  static void note(std::vector<std::string>& faults, const Result<T>& result) {
    // What objects that come and go, and Joins in progress, may answer.
    static const std::set<ErrorKind> expected = {ErrorKind::NotFound, ErrorKind::Unavailable,
                                                 ErrorKind::InvalidOperation};
    if (result || expected.contains(result.error().kind())) return;
    faults.push_back(to_string(result.error()));
  }
  static Task<void> destroy(Context& context, const std::string id,
                            std::vector<std::string>& faults) {
    auto found = co_await context.actors().find(id);
    if (found && found->has_value()) note(faults, co_await context.actors().destroy(**found));
  }
  void bind(std::uint64_t client, const Result<std::optional<ActorRef>>& found) {
    if (!found || !found->has_value()) return;
    const objects::BindingIdentity binding{SessionId{1, client}, LifecycleId{3, 3}, NodeRid{"gate"},
                                           ++generation_};
    node_.bindings().bind(**found, binding, [](const Result<void>&) {});
    node_.bindings().session_ended((*found)->actor_id, binding);
  }

  objects::ObjectsNode& node_;
  std::atomic<std::uint64_t> generation_{0};
};

constexpr std::uint64_t client_count = 6;

// What went wrong for each of them.
std::vector<std::vector<std::string>> rage(testing::LiveNode& node) {
  Storm storm(node.objects());
  std::vector<std::vector<std::string>> faults(client_count);
  std::vector<std::future<void>> ends;
  for (std::uint64_t client = 0; client < client_count; ++client) {
    ends.push_back(node.begin([&storm, &faults, client](Context& context) {
      return storm.roam(context, client + 1, faults[client]);
    }));
  }
  for (auto& end : ends) end.get();
  return faults;
}

}  // namespace

TEST_CASE("Joins, messages, binds, timers and destruction at once overlap nowhere",
          "[TURN-03][PERACTOR-01]") {
  const testing::ScratchFolder folder;
  storm::Verdict verdict;
  CountedSessions sessions;
  auto store = store::SqliteStore::open({.path = folder.path() / "cluster.db"});
  REQUIRE(store.has_value());
  testing::LiveWorld world(4);
  testing::LiveNode& node = world.start([&](Application& app) { storm::configure(app, verdict); },
                                        {.store = store->get(), .sessions = &sessions});
  for (const auto& faults : rage(node)) {
    for (const std::string& fault : faults) FAIL_CHECK(fault);
  }
  world.stop();
  CHECK(verdict.overlaps.load() == 0);
  // Nothing waits for what will not come: a lost wake-up, or turns that wait for each other.
  CHECK(verdict.deadlines.load() == 0);
  CHECK(verdict.joins.load() > 0);
  CHECK(verdict.disconnects.load() > 0);
  CHECK(world.errors() == 0);
  CHECK(node.objects().metrics().callback_throws.value() == 0);
  CHECK(node.objects().metrics().requests_in_flight.value() == 0);
}

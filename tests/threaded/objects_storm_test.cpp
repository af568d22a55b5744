// The object side of a node on real threads: everything at once, and nothing overlaps.
#include <unistd.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "net/os_random.hpp"
#include "net/system_clock.hpp"
#include "net/thread_workers.hpp"
#include "net/worker_pool.hpp"
#include "objects/objects_node.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "storm_game.hpp"
#include "storm_plaza.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

class SilentLog final : public LogSink, public EventSink {
 public:
  bool is_enabled(LogLevel level) const override { return level >= LogLevel::Error; }
  void write(LogLevel, std::string_view, std::string, std::vector<LogField>) override {
    errors.fetch_add(1);
  }
  void emit(Event) override {}

  std::atomic<int> errors{0};
};

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

class Caller final : public Context {
 public:
  explicit Caller(objects::Caller& caller) : Context(caller) {}
};

// A folder of its own that goes with the test.
class Folder {
 public:
  Folder() {
    path_ = std::filesystem::temp_directory_path() / ("spotmesh-storm-" + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file() const { return (path_ / "cluster.db").string(); }

 private:
  std::filesystem::path path_;
};

struct Client final : runtime::RefCounted {
  Client(runtime::GateEnvironment environment, objects::ObjectsNode& node, std::uint64_t number)
      : gate(runtime::make_ref<runtime::Gate>(environment)),
        mailbox(*this, *gate),
        caller(node.new_session_caller(SessionId{1, number})),
        context(*caller),
        number(number) {}

  runtime::Ref<runtime::Gate> gate;
  runtime::Mailbox mailbox;
  std::unique_ptr<objects::Caller> caller;
  Caller context;
  std::uint64_t number;
  std::promise<std::vector<std::string>> done;
};

class Storm {
 public:
  explicit Storm(objects::ObjectsNode& node) : node_(node) {}

  // What went wrong, as text.
  Task<std::vector<std::string>> roam(Client& client, int rounds) {
    std::vector<std::string> faults;
    std::mt19937_64 random(client.number);
    for (int round = 0; round < rounds; ++round) {
      const std::string id = "w" + std::to_string(random() % walkers);
      const std::string house = name_of_spot(random() % (houses + 1));
      auto& actors = client.context.actors();
      if (round == 0) {
        for (std::uint64_t i = 0; i <= houses; ++i) {
          note(faults, co_await client.context.spots()
                           .get_or_create(name_of_spot(i), i < houses ? "house" : "plaza")
                           .timeout(30s)
                           .submit());
        }
      }
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
          note(faults, co_await client.context.spots()
                           .request<probe::Poked>(house, probe::Poke{.value = round})
                           .timeout(30s)
                           .submit());
          break;
        case 6:
          bind(client, co_await actors.find(id));
          break;
        case 7:
          note(faults, co_await actors.get_or_create(id, "walker").timeout(30s).submit());
          if (random() % 4 == 0) co_await destroy(client, id, faults);
          break;
      }
    }
    co_return faults;
  }

  static constexpr std::uint64_t walkers = 12;
  static constexpr std::uint64_t houses = 3;

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
  static Task<void> destroy(Client& client, const std::string id,
                            std::vector<std::string>& faults) {
    auto found = co_await client.context.actors().find(id);
    if (found && found->has_value()) {
      note(faults, co_await client.context.actors().destroy(**found));
    }
  }
  void bind(Client& client, const Result<std::optional<ActorRef>>& found) {
    if (!found || !found->has_value()) return;
    const objects::BindingIdentity binding{SessionId{1, client.number}, LifecycleId{3, 3},
                                           NodeRid{"gate"}, ++generation_};
    node_.bindings().bind(**found, binding, [](const Result<void>&) {});
    node_.bindings().session_ended((*found)->actor_id, binding);
  }

  objects::ObjectsNode& node_;
  std::atomic<std::uint64_t> generation_{0};
};

class RoamJob final : public runtime::Job {
 public:
  RoamJob(Storm& storm, Client& client, int rounds)
      : storm_(storm), client_(client), rounds_(rounds) {}
  Task<void> run(runtime::Turn&) override { return drive(storm_, client_, rounds_); }
  void finished(runtime::Turn&, std::exception_ptr failure) override {
    if (failure != nullptr) client_.done.set_exception(failure);
  }
  void refuse(const Error&) override {}

 private:
  static Task<void> drive(Storm& storm, Client& client, int rounds) {
    client.done.set_value(co_await storm.roam(client, rounds));
  }

  Storm& storm_;
  Client& client_;
  int rounds_;
};

constexpr std::uint64_t client_count = 6;
constexpr int rounds = 1500;  // of each client

std::vector<runtime::Ref<Client>> begin_storm(Storm& storm, objects::ObjectsNode& node,
                                              runtime::GateEnvironment environment) {
  std::vector<runtime::Ref<Client>> clients;
  for (std::uint64_t number = 1; number <= client_count; ++number) {
    clients.push_back(runtime::make_ref<Client>(environment, node, number));
  }
  for (const auto& client : clients) {
    REQUIRE(client->mailbox.push(runtime::Lane::Application,
                                 std::make_unique<RoamJob>(storm, *client, rounds)));
  }
  return clients;
}

}  // namespace

TEST_CASE("Joins, messages, binds, timers and destruction at once overlap nowhere",
          "[TURN-03][PERACTOR-01]") {
  const Folder folder;
  storm::Verdict verdict;
  Application app;
  storm::configure(app, verdict);
  const objects::FrozenApplication frozen(app);

  net::SystemClock clock;
  net::OsRandom random;
  SilentLog log;
  CountedSessions sessions;
  auto store = store::SqliteStore::open({.path = folder.file()});
  REQUIRE(store.has_value());
  net::ThreadWorkers workers({.cpu_threads = 2, .io_threads = 1});
  net::WorkerPool pool({.threads = 4});
  objects::ObjectsNode node(frozen, objects::new_identity("storm", random), {},
                            {.clock = clock,
                             .scheduler = pool,
                             .timers = pool,
                             .workers = workers,
                             .store = **store,
                             .random = random,
                             .log = log,
                             .events = log});
  node.set_sessions(sessions);
  std::promise<Result<void>> started;
  node.start([&](Result<void> result) { started.set_value(std::move(result)); });
  REQUIRE(started.get_future().get().has_value());

  Storm storm(node);
  const auto clients = begin_storm(storm, node, {.clock = clock, .scheduler = pool});
  for (const auto& client : clients) {
    auto faults = client->done.get_future();
    REQUIRE(faults.wait_for(60s) == std::future_status::ready);
    for (const std::string& fault : faults.get()) FAIL_CHECK(fault);
  }

  std::promise<void> stopped;
  node.stop(clock.now() + 10s, [&] { stopped.set_value(); });
  REQUIRE(stopped.get_future().wait_for(60s) == std::future_status::ready);
  pool.stop();
  workers.stop();
  CHECK(verdict.overlaps.load() == 0);
  // Nothing waits for what will not come: a lost wake-up, or turns that wait for each other.
  CHECK(verdict.deadlines.load() == 0);
  CHECK(verdict.joins.load() > 0);
  CHECK(verdict.disconnects.load() > 0);
  CHECK(log.errors.load() == 0);
  CHECK(node.metrics().callback_throws.value() == 0);
  CHECK(node.metrics().requests_in_flight.value() == 0);
}

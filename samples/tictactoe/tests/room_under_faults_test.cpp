// A room of TicTacToe under faults: how a game tests its own room with the simulator.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/testing/simulation.hpp>

#include "server/game.hpp"
#include "tictactoe.packets.hpp"

namespace {

using namespace std::chrono_literals;
using namespace spotmesh::testing;
using spotmesh::Result;
using namespace tictactoe;

// Somebody who sits down in the room and stays in it, whatever happens to the connection.
class Guest {
 public:
  Guest(Cluster& cluster, std::string name) : cluster_(cluster), name_(std::move(name)) {}

  void begin() { plan(&Guest::connect, 10ms); }
  const std::optional<GameState>& last_seen() const { return last_seen_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  // From now on it counts what the server says.
  void settle() {
    last_seen_.reset();
    plan(&Guest::connect, 0ms);
  }
  void leave() {
    ++attempt_;
    client_.reset();
  }

 private:
  // Later, and on nobody's stack: a client must not be replaced in a handler of its own.
  void plan(void (Guest::*step)(), spotmesh::Duration delay) {
    cluster_.after(delay, [this, step, attempt = ++attempt_] {
      if (attempt == attempt_) (this->*step)();
    });
  }

  void connect() {
    auto client = cluster_.connect();
    if (!client) return plan(&Guest::connect, 500ms);
    client_.emplace(std::move(*client));
    client_->on_close([this](const ClientClose&) { plan(&Guest::connect, 300ms); });
    client_->on_push<GameStateNotify>([this](const GameStateNotify& push) { see(push.state); });
    client_->on_push<EnterFailedNotify>([this](const auto&) { plan(&Guest::connect, 300ms); });
    ask<LoginResult>(Login{.name = name_, .device_token = "device-token-of-" + name_},
                     [this](const LoginResult&) { synchronize(); });
  }
  void synchronize() {
    ask<SyncResult>(Sync{}, [this](const SyncResult& result) {
      if (result.room) return see(*result.room);
      ask<Entering>(OpenRoom{.room = "the room"}, [](const Entering&) {});
    });
  }
  // Whatever is refused is tried again on a connection of its own.
  template <typename Reply, typename P>
  void ask(const P& packet, std::function<void(const Reply&)> then) {
    client_->request<Reply>(packet, [this, then = std::move(then)](const Result<Reply>& reply) {
      reply ? then(*reply) : plan(&Guest::connect, 300ms);
    });
  }
  void see(const GameState& state) {
    const bool is_here = (state.x && state.x->name == name_) || (state.o && state.o->name == name_);
    if (!is_here) complaints_.push_back(name_ + " sees a room without himself");
    last_seen_ = state;
  }

  Cluster& cluster_;
  const std::string name_;
  std::optional<SimStreamClient> client_;
  unsigned attempt_ = 0;
  std::optional<GameState> last_seen_;
  std::vector<std::string> complaints_;
};

// Two friends meet in a room; whatever happens, in the end they sit there together.
class TwoFriends final : public Workload {
 public:
  void configure(spotmesh::Application& app) override { tictactoe::configure(app); }
  void begin(Cluster& cluster) override {
    for (const char* name : {"ann", "bob"}) {
      guests_.push_back(std::make_unique<Guest>(cluster, name));
      guests_.back()->begin();
    }
  }
  void settle() override {
    for (auto& guest : guests_) guest->settle();
  }
  bool has_settled() const override {
    return std::ranges::all_of(guests_, [](const auto& guest) {
      const auto& seen = guest->last_seen();
      return seen && seen->x && seen->x->is_connected && seen->o && seen->o->is_connected;
    });
  }
  std::vector<std::string> finish() override {
    std::vector<std::string> wrong;
    for (auto& guest : guests_) {
      wrong.insert(wrong.end(), guest->complaints().begin(), guest->complaints().end());
      guest->leave();
    }
    return wrong;
  }

 private:
  std::vector<std::unique_ptr<Guest>> guests_;
};

}  // namespace

TEST_CASE("two friends find each other in their room, whatever fails on the way") {
  const Scenario scenario{.name = "two friends",
                          .workload = [](Chance&) { return std::make_unique<TwoFriends>(); },
                          .faults =
                              [](Chance& chance) {
                                Faults faults;
                                if (chance.one_in(2)) faults.push_back(faults::breaking_clients());
                                if (chance.one_in(2)) faults.push_back(faults::crashes());
                                if (chance.one_in(2)) faults.push_back(faults::store_outages());
                                if (chance.one_in(2)) faults.push_back(faults::unknown_outcomes());
                                return faults;
                              }};
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RunReport report = simulate(scenario, seed);
    INFO("seed " << seed << ": " << report.text());
    REQUIRE(report.is_correct());
  }
}

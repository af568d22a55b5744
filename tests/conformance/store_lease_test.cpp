// What the machines above a provider need of it: the lease of a node that starts.
#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <variant>

#include "location/keys.hpp"
#include "location/lease.hpp"
#include "store_providers.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;

namespace {

// A LeaseMachine whose operations are plain calls; its pauses are over at once.
class LeaseCalls {
 public:
  explicit LeaseCalls(StoreCalls& calls) : calls_(calls) {}

  const LeaseMachine& machine() const { return machine_; }

  // Until the lease is held or lost; false when it has not come to that.
  bool run() {
    events_.push_back(lease::Start{});
    for (int steps = 0; steps < 1000 && !events_.empty(); ++steps) {
      const lease::Event event = std::move(events_.front());
      events_.pop_front();
      for (const lease::Action& action : machine_.on_event(event, now_)) {
        std::visit([this](const auto& each) { perform(each); }, action);
      }
      if (machine_.state() == LeaseMachine::State::Held ||
          machine_.state() == LeaseMachine::State::Ended) {
        return true;
      }
      if (events_.empty() && timer_ > now_) {
        now_ = timer_;
        events_.push_back(TimerFired{});
      }
    }
    return false;
  }

 private:
  void perform(const ReadKeys& read) {
    events_.push_back(ReadDone{read.ticket, calls_.read(read.keys)});
  }
  void perform(const CommitKeys& commit) {
    events_.push_back(CommitDone{commit.ticket, calls_.commit(commit.commit)});
  }
  void perform(const ArmTimer& timer) { timer_ = timer.deadline; }
  template <typename Other>
  void perform(const Other&) {}

  StoreCalls& calls_;
  TestRandom random_{1};
  LeaseMachine machine_{{}, *OwnerId::parse("node-a"), {"node-a"}, {5, 6}, random_};
  std::deque<lease::Event> events_;
  Instant now_{1000s};
  Instant timer_{};
};

}  // namespace

TEMPLATE_TEST_CASE("a lease is acquired through an unknown outcome, by a node that only reads then",
                   "[STORE-02]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const auto kind = GENERATE(Unknown::Applied, Unknown::Lost);
  provider.make_next_unknown(0, kind);
  LeaseCalls lease(calls);
  REQUIRE(lease.run());
  REQUIRE(lease.machine().state() == LeaseMachine::State::Held);
  const auto stored = calls.get(keys::lease(*OwnerId::parse("node-a")));
  REQUIRE(stored);
  CHECK(stored->version == lease.machine().view().lease_version);
}

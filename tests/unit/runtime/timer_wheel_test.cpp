#include "runtime/timer_wheel.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <vector>

namespace spotmesh::runtime::testing {
namespace {

using namespace std::chrono_literals;

struct Entry final : TimerEntry {
  explicit Entry(int number) : number(number) {}
  void on_timer(Instant) override {}
  int number;
};

struct WheelFixture {
  explicit WheelFixture(Instant start = {}) : wheel(start) {}
  Entry& arm(int number, Instant deadline) {
    entries.push_back(std::make_unique<Entry>(number));
    wheel.arm(*entries.back(), deadline);
    return *entries.back();
  }
  std::vector<int> advance(Instant now) {
    std::vector<int> fired;
    wheel.advance(now,
                  [&](TimerEntry& entry) { fired.push_back(static_cast<Entry&>(entry).number); });
    return fired;
  }
  std::vector<std::unique_ptr<Entry>> entries;
  TimerWheel wheel;  // ends first
};

using Fired = std::vector<int>;

TEST_CASE("an entry expires at its deadline and never before") {
  const Duration after = GENERATE(1ns, 999ns, 1ms, 1048576ns, 3s, 36h, 24h * 400, 24h * 36500);
  const Instant start = GENERATE(Instant{0ns}, Instant{17s + 3ns}, Instant{-5s});
  WheelFixture fixture(start);
  fixture.arm(1, start + after);
  CHECK(fixture.advance(start + after - 1ns).empty());
  CHECK(fixture.wheel.next_deadline() == start + after);
  CHECK(fixture.advance(start + after) == Fired{1});
  CHECK(fixture.wheel.size() == 0);
  CHECK_FALSE(fixture.wheel.next_deadline());
}

TEST_CASE("entries expire in order of deadline, then of arming") {
  WheelFixture fixture;
  fixture.arm(1, {5s});
  fixture.arm(2, {5s});
  fixture.arm(3, {10us});
  fixture.arm(4, {5s - 1ns});
  fixture.arm(5, {3h});
  fixture.arm(6, {-1s});
  CHECK(fixture.advance({4h}) == Fired{6, 3, 4, 1, 2, 5});
}

TEST_CASE("a deadline that has passed expires in the next advance") {
  WheelFixture fixture;
  CHECK(fixture.advance({1h}).empty());
  fixture.arm(1, {1s});
  CHECK(*fixture.wheel.next_deadline() <= Instant{1h});
  CHECK(fixture.advance({1h}) == Fired{1});
}

TEST_CASE("arming again moves an entry, cancelling takes it out") {
  WheelFixture fixture;
  Entry& moved = fixture.arm(1, {1s});
  Entry& cancelled = fixture.arm(2, {2s});
  fixture.wheel.arm(moved, {3s});
  CHECK(fixture.wheel.size() == 2);
  CHECK(fixture.wheel.cancel(cancelled));
  CHECK_FALSE(fixture.wheel.cancel(cancelled));
  CHECK_FALSE(TimerWheel::is_armed(cancelled));
  CHECK(fixture.advance({3s - 1ns}).empty());
  CHECK(fixture.advance({3s}) == Fired{1});
  CHECK_FALSE(fixture.wheel.cancel(moved));
}

TEST_CASE("an expiry may cancel, move and arm others, and what it arms expires later") {
  WheelFixture fixture;
  Entry& first = fixture.arm(1, {1s});
  Entry& cancelled = fixture.arm(2, {1s});
  Entry& moved = fixture.arm(3, {1s});
  fixture.arm(4, {1s});
  Fired fired;
  fixture.wheel.advance({1s}, [&](TimerEntry& entry) {
    fired.push_back(static_cast<Entry&>(entry).number);
    if (&entry != &first) return;
    CHECK(fixture.wheel.cancel(cancelled));
    fixture.wheel.arm(moved, {2s});
    fixture.wheel.arm(first, {1s});
  });
  CHECK(fired == Fired{1, 4});
  CHECK(fixture.wheel.next_deadline() == Instant{1s});
  CHECK(fixture.advance({1s}) == Fired{1});
  CHECK(fixture.advance({2s}) == Fired{3});
}

TEST_CASE("a wheel that ends lets go of its entries") {
  Entry near(1);
  Entry far(2);
  {
    TimerWheel wheel({});
    wheel.arm(near, {1ms});
    wheel.arm(far, {100h});
  }
  CHECK_FALSE(TimerWheel::is_armed(near));
  CHECK_FALSE(TimerWheel::is_armed(far));
}

// Random operations, compared with a list that is searched in full.
class WheelModel {
 public:
  explicit WheelModel(unsigned seed) : random_(seed), fixture_(start_) {
    for (int i = 0; i < 64; ++i) entries_.push_back(std::make_unique<Entry>(i));
  }
  void step() {
    Entry& entry = *entries_[below(entries_.size())];
    const auto found = find(entry.number);
    switch (below(4)) {
      case 0:
      case 1: {
        const Instant deadline = now_ + random_span() - 1ms;
        if (found != armed_.end()) armed_.erase(found);
        armed_.push_back({deadline, sequence_++, entry.number});
        fixture_.wheel.arm(entry, deadline);
        break;
      }
      case 2:
        REQUIRE(fixture_.wheel.cancel(entry) == (found != armed_.end()));
        if (found != armed_.end()) armed_.erase(found);
        break;
      default:
        go();
    }
    REQUIRE(fixture_.wheel.size() == armed_.size());
  }

 private:
  struct Armed {
    Instant deadline;
    std::uint64_t sequence;
    int number;
    auto operator<=>(const Armed&) const = default;
  };

  void go() {
    std::sort(armed_.begin(), armed_.end());
    const auto next = fixture_.wheel.next_deadline();
    REQUIRE(next.has_value() == !armed_.empty());
    if (next) REQUIRE(*next <= armed_.front().deadline);
    now_ = below(2) == 0 && next ? std::max(now_, *next) : now_ + random_span();
    Fired expected;
    while (!armed_.empty() && armed_.front().deadline <= now_) {
      expected.push_back(armed_.front().number);
      armed_.erase(armed_.begin());
    }
    REQUIRE(fixture_.advance(now_) == expected);
  }
  std::vector<Armed>::iterator find(int number) {
    return std::find_if(armed_.begin(), armed_.end(),
                        [&](const Armed& armed) { return armed.number == number; });
  }
  std::size_t below(std::size_t bound) { return random_() % bound; }
  // From nanoseconds to weeks, all magnitudes alike.
  Duration random_span() {
    return Duration(static_cast<Duration::rep>(random_() >> (15 + below(48))));
  }

  std::mt19937_64 random_;
  const Instant start_{123s};
  Instant now_ = start_;
  std::uint64_t sequence_ = 0;
  std::vector<Armed> armed_;
  std::vector<std::unique_ptr<Entry>> entries_;
  WheelFixture fixture_;
};

TEST_CASE("the wheel agrees with a plain list through random operations") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    WheelModel model(seed);
    for (int i = 0; i < 3000; ++i) model.step();
  }
}

}  // namespace
}  // namespace spotmesh::runtime::testing

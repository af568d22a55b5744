// Everything that can happen to mailboxes and gates, at random, under many seeds.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <vector>

#include "runtime/completion.hpp"
#include "runtime/strand.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;
using runtime::Lane;
using runtime::make_ref;
using runtime::Ref;

// What must hold of one mailbox, as its jobs, claims and holds see it.
struct StormCell final : runtime::RefCounted {
  explicit StormCell(runtime::Gate& gate) : mailbox(*this, gate) {}

  bool is_in_turn = false;
  bool is_claimed = false;
  int holds = 0;
  std::map<std::pair<int, Lane>, int> last_of;  // by sender and lane
  runtime::Mailbox mailbox;
};

class Storm {
 public:
  explicit Storm(std::uint64_t seed)
      : world_({.seed = seed}),
        node_(world_.add_node("n")),
        random_(world_.random("storm")),
        strand_(node_.scheduler()) {
    for (int i = 0; i < 3; ++i) gates_.push_back(make_ref<runtime::Gate>(node_.gate_environment()));
    for (int i = 0; i < 5; ++i) cells_.push_back(make_ref<StormCell>(*gates_[below(3)]));
    for (int sender = 0; sender < 4; ++sender) schedule([this, sender] { send(sender, 60); });
    for (int i = 0; i < 3; ++i) schedule([this] { hold(25); });
    for (int i = 0; i < 3; ++i) schedule([this] { claim(25); });
  }

  void run() {
    REQUIRE(world_.run_until([this] { return under_way_ == 0; }, 1h) == SimOutcome::Done);
    REQUIRE(world_.run_until_idle() == SimOutcome::Done);
    CHECK(world_.violations().empty());
    CHECK(accepted_ == finished_ + refused_);
    for (auto& cell : cells_) {
      const auto backlog = cell->mailbox.backlog();
      CHECK(backlog.application + backlog.control == 0);
      CHECK_FALSE((backlog.is_running || backlog.is_held || backlog.is_claimed));
    }
    for (auto& gate : gates_) {
      CHECK_FALSE(gate->state().has_turn);
      CHECK(gate->state().ready_mailboxes + gate->state().yielded_turns == 0);
    }
  }
  void close_one_later() {
    schedule([this] {
      StormCell& cell = any_cell();
      cell.mailbox.close(Error::unavailable("closed"));
    });
  }
  int refused() const { return refused_; }
  std::uint64_t hash() { return world_.trace().hash(); }

 private:
  class StormJob;
  class StormClaim;

  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_below(random_, bound));
  }
  StormCell& any_cell() { return *cells_[below(cells_.size())]; }
  // Something that will happen, and that run() waits for.
  void schedule(std::function<void()> job) {
    ++under_way_;
    world_.after(random_.between(0us, 300us), [this, job = std::move(job)] {
      job();
      --under_way_;
    });
  }

  void send(int sender, int left);
  void hold(int left);
  void claim(int left);
  Task<void> handle(StormCell& cell, int depth);

  SimWorld world_;
  SimNode& node_;
  SimRandom& random_;
  runtime::Strand strand_;
  std::vector<Ref<runtime::Gate>> gates_;
  std::vector<Ref<StormCell>> cells_;
  std::map<std::pair<StormCell*, std::pair<int, Lane>>, int> sent_;
  int under_way_ = 0;
  int accepted_ = 0;
  int finished_ = 0;
  int refused_ = 0;
};

class Storm::StormJob final : public runtime::Job {
 public:
  StormJob(Storm& storm, StormCell& cell, int sender, Lane lane, int number)
      : storm_(storm), cell_(cell), sender_(sender), lane_(lane), number_(number) {}

  Task<void> run(runtime::Turn& turn) override {
    CHECK_FALSE(std::exchange(cell_.is_in_turn, true));
    CHECK_FALSE(cell_.is_claimed);
    if (lane_ == Lane::Application) CHECK(cell_.holds == 0);
    CHECK(&turn.gate() == &cell_.mailbox.gate());
    CHECK(std::exchange(cell_.last_of[{sender_, lane_}], number_) + 1 == number_);
    if (storm_.below(3) == 0) return storm_.handle(cell_, 2);
    return {};
  }
  void finished(runtime::Turn&, std::exception_ptr failure) override {
    CHECK_FALSE(failure);
    cell_.is_in_turn = false;
    ++storm_.finished_;
    --storm_.under_way_;
  }
  void refuse(const Error& error) override {
    CHECK(error == Error::unavailable("closed"));
    ++storm_.refused_;
    --storm_.under_way_;
  }

 private:
  Storm& storm_;
  StormCell& cell_;
  int sender_;
  Lane lane_;
  int number_;
};

class Storm::StormClaim final : public runtime::ClaimWaiter {
 public:
  StormClaim(Storm& storm, StormCell& cell, int left) : storm_(storm), cell_(cell), left_(left) {}
  void on_claimed() override {
    CHECK_FALSE(std::exchange(cell_.is_claimed, true));
    CHECK_FALSE(cell_.is_in_turn);
    storm_.strand_.post([this] {
      if (storm_.below(2) == 0) cell_.mailbox.move_to(*storm_.gates_[storm_.below(3)]);
      storm_.schedule([this] { release(); });
    });
  }

 private:
  void release() {
    CHECK_FALSE(cell_.is_in_turn);
    cell_.is_claimed = false;
    cell_.mailbox.release_claim();
    storm_.schedule([&storm = storm_, left = left_] { storm.claim(left - 1); });
    --storm_.under_way_;
    delete this;
  }

  Storm& storm_;
  StormCell& cell_;
  int left_;
};

void Storm::send(int sender, int left) {
  StormCell& cell = any_cell();
  const Lane lane = below(4) == 0 ? Lane::Control : Lane::Application;
  int& number = sent_[{&cell, {sender, lane}}];
  auto job = std::make_unique<StormJob>(*this, cell, sender, lane, number + 1);
  if (cell.mailbox.push(lane, std::move(job))) {
    ++number;
    ++accepted_;
    ++under_way_;
  }
  if (left > 1) schedule([this, sender, left] { send(sender, left - 1); });
}

void Storm::hold(int left) {
  StormCell& cell = any_cell();
  cell.mailbox.hold();
  ++cell.holds;
  schedule([this, &cell, left] {
    --cell.holds;
    cell.mailbox.release_hold();
    if (left > 1) schedule([this, left] { hold(left - 1); });
  });
}

void Storm::claim(int left) {
  if (left == 0) return;
  StormCell& cell = any_cell();
  ++under_way_;
  auto waiter = std::make_unique<StormClaim>(*this, cell, left);
  cell.mailbox.claim(*waiter.release());
}

// Waits for what comes before, while or after it waits, in one way or the other.
Task<void> Storm::handle(StormCell& cell, int depth) {
  auto number = runtime::make_completion<int>();
  if (below(3) == 0) {
    number->complete(1);
  } else {
    schedule([number] { number->complete(1); });
  }
  if (below(2) == 0) {
    (void)co_await number->wait();
  } else {
    (void)co_await number->yield();
  }
  CHECK(&runtime::Turn::current()->mailbox() == &cell.mailbox);
  CHECK_FALSE(cell.is_claimed);
  if (depth > 0) co_await handle(cell, depth - 1);
}

TEST_CASE("through every mixture of turns, yields, holds, claims and moves the rules hold",
          "[TURN-01][TURN-03][TURN-08][YIELD-01][YIELD-02]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    Storm storm(seed);
    storm.run();
    CHECK(storm.refused() == 0);
    if (seed % 20 != 0) continue;
    Storm again(seed);
    again.run();
    CHECK(storm.hash() == again.hash());
  }
}

TEST_CASE("a mailbox that is closed in the middle of it all refuses what waits and harms nobody") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    Storm storm(seed);
    for (int i = 0; i < 3; ++i) storm.close_one_later();
    storm.run();
    refused += storm.refused();
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace spotmesh::testing

// One node of an explored cluster: the machines of location/ with nothing around them. What they
// want of the store waits here until the exploration lets it happen.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "location/beat_watch.hpp"
#include "location/create.hpp"
#include "location/lease.hpp"
#include "location/reassert.hpp"
#include "location/remove.hpp"
#include "runtime/faults.hpp"
#include "sample_records.hpp"

namespace spotmesh::testing {

// Always the same: what is explored is the order of things.
class NoRandom : public Random {
 public:
  std::uint64_t next_u64() override { return UINT64_MAX; }
};

// Defects that strike whenever they are asked for.
class SwitchedFaults : public runtime::Faults {
 public:
  std::set<std::string, std::less<>> on;
  bool strikes(std::string_view point) override { return on.contains(point); }
};

// Time goes by in steps of a second: a timer fires at the first of them that is not before it.
inline constexpr Duration explored_tick = std::chrono::seconds(1);

class ExploredNode : private location::LocalObjects {
 public:
  enum class Part : std::uint8_t { Lease, Watch, Create, Reassert, Remove };
  static constexpr std::size_t part_count = 5;
  struct Operation {
    Part part = Part::Lease;
    std::uint64_t serial = 0;  // of the machine that wants it
    Instant sent;
    std::variant<location::ReadKeys, location::CommitKeys> action;
    location::Ticket ticket() const {
      return std::visit([](const auto& each) { return each.ticket; }, action);
    }
    const location::Commit* commit() const {
      const auto* action_of_commit = std::get_if<location::CommitKeys>(&action);
      return action_of_commit == nullptr ? nullptr : &action_of_commit->commit;
    }
  };
  // The one object that nodes fight over, as this node has it.
  struct Exposed {
    ObjectGeneration generation;
    location::AuthorityRecord record;
    location::StoreVersion version;
  };
  // All that a node is. A copy can be brought back to the node it was made of, and to no other: its
  // machines speak of that node.
  struct State {
    State(const std::string& name, std::uint64_t number, Random& random, runtime::Faults& faults);

    location::LeaseMachine lease;
    location::BeatWatchMachine watch;
    location::GenerationMint mint{LeaseGeneration{0}};
    std::optional<location::CreateMachine> create;
    std::optional<location::ReassertMachine> reassert;
    std::optional<location::RemoveMachine> remove;
    std::array<std::uint64_t, part_count> serials{};
    std::array<std::optional<Instant>, part_count> timers{};
    std::deque<Operation> operations;
    std::vector<location::OwnerStamp> watched;
    bool is_factory_running = false;
    location::StoreEpoch reserved_in;  // what the factory runs for
    std::set<ObjectGeneration> has;
    ObjectGeneration minted;   // the latest
    ObjectGeneration made;     // the latest that a factory was run for
    ObjectGeneration pending;  // of the creation under way
    std::optional<Exposed> exposed;
    std::optional<ObjectGeneration> leftover;
    Instant admission{Duration::min()};
    bool is_deciding = false;  // re-assertion: no renewal extends anything
    bool was_fenced = false;
    bool has_made_twice = false;
    int slots = 0;
  };

  ExploredNode(const std::string& name, std::uint64_t number, SwitchedFaults& faults);

  static location::LeaseConfig config();
  static const std::string& object_key();

  const std::string& lease_key() const { return lease_key_; }
  const std::string& beat_key() const { return beat_key_; }
  const State& state() const { return *state_; }
  void bring_back(const State& state) { state_.emplace(state); }

  void start(Instant now) { feed_lease(location::lease::Start{}, now); }
  void watch(const location::OwnerStamp& owner, Instant now);
  void get_or_create(Instant now);
  void end_factory(Instant now);
  // Somebody asks for an object that the store says is here.
  void asked_for(ObjectGeneration generation, Instant now);
  Operation take_operation();
  // The next operation is the sign of life that it gives, or the look at those of others.
  bool is_next_renewal() const;
  bool is_next_watching() const;
  void answer(const Operation& operation, const Result<location::ReadResult>& result, Instant now);
  void answer(const Operation& operation, const location::CommitResult& result, Instant now);
  bool has_due_timer(Instant now) const;
  void fire_timers(Instant now);
  // A node whose lifecycle is over and which does nothing any more.
  bool is_idle() const;
  void forget_all();

  const location::LeaseView& lease() const { return state_->lease.view(); }
  location::OwnerVerdict verdict(const location::OwnerRun& run, Instant now) const {
    return state_->watch.verdict(run, now);
  }
  // Whether a turn may start, as the runtime's admission has it.
  bool admits(Instant now) const { return lease().is_held && now < state_->admission; }
  bool may_ask() const;
  // Said since it was last taken.
  std::optional<location::CreateOutcome> take_outcome() {
    return std::exchange(outcome_, std::nullopt);
  }

 private:
  bool has(std::string_view key, ObjectGeneration generation) const override {
    return key == object_key() && state_->has.contains(generation);
  }

  void feed_lease(const location::lease::Event& event, Instant now);
  void feed_watch(const location::watch::Event& event, Instant now);
  void feed_create(const location::create::Event& event, Instant now);
  void feed_reassert(const location::reassert::Event& event, Instant now);
  void feed_remove(const location::remove::Event& event, Instant now);
  template <typename Actions>
  void act(Part part, const Actions& actions, Instant now);
  void perform(const location::lease::Action& action, Instant now);
  void perform(const location::watch::Action& action, Instant now);
  void perform(const location::create::Action& action, Instant now);
  void perform(const location::reassert::Action& action, Instant now);
  void perform(const location::remove::Action& action, Instant now);
  void on_created(const location::CreateOutcome& outcome);
  void remove_leftover(ObjectGeneration generation, Instant now);
  void extend();
  void step_down();
  void see(const location::StoreEpoch& epoch, const std::string& failed_key, Instant now);
  template <typename Event>
  void feed(Part part, const Event& event, Instant now);
  template <typename Event>
  void feed(const Operation& operation, const Event& event, Instant now);
  static std::size_t at(Part part) { return static_cast<std::size_t>(part); }

  const std::string name_;
  const std::string lease_key_;
  const std::string beat_key_;
  const StableType type_;
  NoRandom random_;
  std::optional<State> state_;
  location::AuthorityEnvironment environment_;
  // Between two steps there is nothing in these.
  bool is_slot_taken_ = false;  // to be said once the actions before it are done
  std::optional<location::CreateOutcome> outcome_;
};

}  // namespace spotmesh::testing

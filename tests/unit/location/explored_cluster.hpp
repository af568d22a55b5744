// Two nodes that want one id, and an observer who watches them and fences them: what may happen
// next, what it leads to, and what must never be so.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explored_node.hpp"
#include "explored_notes.hpp"
#include "explored_store.hpp"

namespace spotmesh::testing {

// What may go wrong, each once, and what is wrong with the nodes.
struct ExploredFaults {
  bool kill = false;      // node a ends, and a commit of it that is on its way may still arrive
  bool stall = false;     // node a stands still for as long as it likes, and goes on
  bool unknown = false;   // the outcome of one commit is unknown; it may be applied later
  bool outage = false;    // the store is away for as long as it likes
  bool failover = false;  // the store forgets nothing, the last commit, the last two, or all
  bool turn = false;      // node a's object runs a turn that says something when it ends
  bool has_observer = true;
  // What is written in a quiet time is looked at, not only what comes of it.
  bool checks_quiet = true;
  // Nobody has a lease yet when it begins.
  bool from_start = false;
  // Of the beats that move and the readings of beats that fall on one moment, the readings come
  // first.
  bool reads_first = false;
  // They come in every order instead, with each other and with all else.
  bool has_all_orders = false;
  // Points of runtime::Faults that always strike. Three are of this environment:
  // "store.settle-late" applies an unknown commit even after a later operation of its process was
  // answered, "flush.past-deadline" lets go what a turn has said although the node does not admit,
  // and "leftover.keep" leaves a record alone that names a node which has no such object.
  std::set<std::string, std::less<>> defects;
};

struct ExploredStep {
  enum class Kind : std::uint8_t {
    Tick,
    Execute,         // the store executes the next operation of a node, and answers
    ExecuteUnknown,  // the next commit of a node is on its way, and its outcome unknown
    ApplyLate,       // it arrives
    ApplyStalled,    // the commit of a node that stands still arrives
    Answer,          // and its answer is heard
    FireTimers,      // of a node that has stood still
    Ask,             // somebody at a node wants the object
    EndFactory,
    BeginTurn,
    EndTurn,
    Kill,
    KillLate,  // its next commit may still arrive
    Stall,
    Wake,
    BeginOutage,
    EndOutage,
    Forget
  };
  Kind kind = Kind::Tick;
  std::size_t index = 0;  // of the node, or how many commits are forgotten
  std::string text() const;
};

class ExploredCluster {
 public:
  static constexpr std::size_t node_count = 3;
  enum : std::size_t { A, B, Observer };

  // One state, to be brought back to the cluster that it was saved from.
  struct State;
  using Saved = std::shared_ptr<const State>;

  explicit ExploredCluster(const ExploredFaults& faults);
  ~ExploredCluster();

  Saved save();
  void bring_back(const Saved& saved);
  std::vector<ExploredStep> steps() const;
  void take(const ExploredStep& step);
  StateKey key() const;
  // What is so now and must not be; empty: nothing.
  const std::string& violation() const { return violation_; }
  // Nothing is under way, and the object lives where the store says, or nobody is left to have it.
  bool is_end() const;

 private:
  struct Answer {
    ExploredNode::Operation operation;
    location::CommitResult result;
  };
  struct Process {
    bool is_gone = false;     // has ended, or does nothing any more
    bool is_stalled = false;  // stands still
    bool was_stalled = false;
    std::optional<location::Commit> late;   // unknown, and on its way
    std::optional<Answer> answer;           // to what arrived while it stood still
    std::optional<ObjectGeneration> turn;   // of the object, under way
    std::optional<ObjectGeneration> held;   // what it said, past the deadline
    Instant renewed_sent{Duration::min()};  // of the last beat that was applied
  };
  struct Plain {
    ExploredStore store;
    std::array<Process, node_count> processes;
    Instant now{};
    bool may_stop = false;
    bool may_be_unknown = false;
    bool may_be_away = false;
    bool may_forget = false;
    bool may_ask = false;  // node a
    bool may_turn = false;
    Instant quiet_until{Duration::min()};
    LeaseGeneration last_lease;  // that the store's counter has given out
  };

  void acquaint();
  bool runs(std::size_t index) const {
    return !plain_.processes[index].is_gone && !plain_.processes[index].is_stalled;
  }
  const ExploredNode& node(std::size_t index) const { return *nodes_[index]; }
  // About to be changed.
  ExploredNode& change(std::size_t index);
  // Whether a life of the object is under way there, as an object or in its factory.
  bool lives(std::size_t index) const;
  bool strikes(std::string_view defect) const { return defects_.on.contains(defect); }
  bool is_waiting_for_step() const;

  void add_node_steps(std::size_t index, std::vector<ExploredStep>& steps) const;
  void add_faults(std::vector<ExploredStep>& steps) const;
  void take_node_step(ExploredStep::Kind kind, std::size_t index);
  void execute_beats();
  void execute(std::size_t index);
  void execute_unknown(std::size_t index);
  location::CommitResult apply(std::size_t index, const location::Commit& commit, Instant sent);
  void hear(std::size_t index);
  void after(std::size_t index);
  void stop(const ExploredStep& step);
  void begin_turn();
  void end_turn();
  void flush();
  void tick();
  void forget(std::size_t commits);

  void note_process(ExploredNotes& notes, std::size_t index) const;

  void check();
  void check_life();
  void check_node(std::size_t index);
  bool is_left_over(std::size_t index) const;
  // `commit` of a node has been applied to what was there before.
  void check_write(const ExploredStore& before, std::size_t index, const location::Commit& commit,
                   Instant sent);
  void check_lease_write(const ExploredStore& before, const location::Write& write);
  void check_object_write(const ExploredStore& before, const location::Write& write);
  void check_counter_write(const location::Write& write);
  void violate(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }

  const ExploredFaults faults_;
  SwitchedFaults defects_;
  std::array<std::unique_ptr<ExploredNode>, node_count> nodes_;
  // What each node was last saved as, or brought back to; null once it has changed.
  std::array<std::shared_ptr<const ExploredNode::State>, node_count> unchanged_;
  Plain plain_;
  std::string violation_;
};

struct ExploredCluster::State {
  std::array<std::shared_ptr<const ExploredNode::State>, node_count> nodes;
  Plain plain;
};

}  // namespace spotmesh::testing

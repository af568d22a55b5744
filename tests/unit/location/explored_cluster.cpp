#include "explored_cluster.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/records.hpp"

namespace spotmesh::testing {

using namespace location;
using namespace std::chrono_literals;
using Kind = ExploredStep::Kind;

std::string ExploredStep::text() const {
  static constexpr std::array names = {"time passes",
                                       "the store executes for",
                                       "unknown is the commit of",
                                       "late arrives",
                                       "arrives of stalled",
                                       "answer is heard by",
                                       "timers of",
                                       "asked is",
                                       "factory ends of",
                                       "turn begins of",
                                       "turn ends of",
                                       "killed is",
                                       "killed with a commit on its way is",
                                       "stalls",
                                       "wakes",
                                       "the store is away",
                                       "the store is back",
                                       "forgotten are"};
  return fmt::format("{} {}", names[static_cast<std::size_t>(kind)], index);
}

ExploredCluster::ExploredCluster(const ExploredFaults& faults) : faults_(faults) {
  defects_.on = faults.defects;
  constexpr std::array<const char*, node_count> names = {"a", "b", "o"};
  for (std::size_t i = 0; i < node_count; ++i) {
    nodes_[i] = std::make_unique<ExploredNode>(names[i], i + 1, defects_);
    plain_.processes[i].is_gone = i == Observer && !faults.has_observer;
    if (!plain_.processes[i].is_gone) nodes_[i]->start(plain_.now);
  }
  if (!faults.from_start) acquaint();
  plain_.may_stop = faults.kill || faults.stall;
  plain_.may_be_unknown = faults.unknown;
  plain_.may_be_away = faults.outage;
  plain_.may_forget = faults.failover;
  plain_.may_ask = true;
  plain_.may_turn = faults.turn;
  plain_.store.remembers(faults.failover);
}

ExploredCluster::~ExploredCluster() = default;

// Everybody has a lease, and has seen the others' beats move.
void ExploredCluster::acquaint() {
  const auto settle = [this] {
    for (std::size_t i = 0; i < node_count; ++i) {
      while (!node(i).state().operations.empty()) execute(i);
    }
  };
  settle();
  for (std::size_t i = 0; i < node_count; ++i) {
    for (std::size_t j = 0; j < node_count; ++j) {
      if (plain_.processes[i].is_gone || plain_.processes[j].is_gone) continue;
      if (i != j) nodes_[i]->watch(*node(j).lease().stamp, plain_.now);
    }
  }
  for (int ticks = 0; ticks < 6; ++ticks) {
    settle();
    tick();
  }
  settle();
}

ExploredCluster::Saved ExploredCluster::save() {
  auto saved = std::make_shared<State>();
  for (std::size_t i = 0; i < node_count; ++i) {
    if (!unchanged_[i]) {
      unchanged_[i] = std::make_shared<const ExploredNode::State>(node(i).state());
    }
    saved->nodes[i] = unchanged_[i];
  }
  saved->plain = plain_;
  return saved;
}

void ExploredCluster::bring_back(const Saved& saved) {
  for (std::size_t i = 0; i < node_count; ++i) {
    if (unchanged_[i] == saved->nodes[i]) continue;
    nodes_[i]->bring_back(*saved->nodes[i]);
    unchanged_[i] = saved->nodes[i];
  }
  plain_ = saved->plain;
  violation_.clear();
}

ExploredNode& ExploredCluster::change(std::size_t index) {
  unchanged_[index] = nullptr;
  return *nodes_[index];
}

// What may happen.

bool ExploredCluster::is_waiting_for_step() const {
  for (std::size_t i = 0; i < node_count; ++i) {
    if (!runs(i)) continue;
    if (!node(i).state().operations.empty() || plain_.processes[i].answer) return true;
    if (node(i).has_due_timer(plain_.now)) return true;
  }
  return false;
}

std::vector<ExploredStep> ExploredCluster::steps() const {
  std::vector<ExploredStep> steps;
  // Time passes when nobody has anything to do at this moment.
  if (!is_waiting_for_step()) steps.push_back({Kind::Tick, 0});
  for (std::size_t i = 0; i < node_count; ++i) add_node_steps(i, steps);
  add_faults(steps);
  return steps;
}

void ExploredCluster::add_node_steps(std::size_t index, std::vector<ExploredStep>& steps) const {
  const Process& process = plain_.processes[index];
  const ExploredNode::State& state = node(index).state();
  if (process.late && !plain_.store.is_away) steps.push_back({Kind::ApplyLate, index});
  if (process.is_gone) return;
  const bool has_next = !state.operations.empty();
  const Commit* commit = has_next ? state.operations.front().commit() : nullptr;
  if (process.is_stalled) {
    steps.push_back({Kind::Wake, index});
    if (commit != nullptr && !process.answer && !plain_.store.is_away) {
      steps.push_back({Kind::ApplyStalled, index});
    }
    return;
  }
  if (process.answer) {
    steps.push_back({Kind::Answer, index});
  } else if (has_next) {
    steps.push_back({Kind::Execute, index});
    const bool may_be_unknown = plain_.may_be_unknown && commit != nullptr && !process.late;
    if (may_be_unknown && !plain_.store.is_away) steps.push_back({Kind::ExecuteUnknown, index});
  }
  if (node(index).has_due_timer(plain_.now)) steps.push_back({Kind::FireTimers, index});
  if (state.is_factory_running) steps.push_back({Kind::EndFactory, index});
  // A node's own creation is what it asks for; b asks again and again.
  const bool may_ask = (index == A && plain_.may_ask) || index == B;
  if (may_ask && node(index).may_ask()) steps.push_back({Kind::Ask, index});
  if (index != A) return;
  if (process.turn) steps.push_back({Kind::EndTurn, index});
  if (plain_.may_turn && state.exposed && node(index).admits(plain_.now)) {
    steps.push_back({Kind::BeginTurn, index});
  }
}

void ExploredCluster::add_faults(std::vector<ExploredStep>& steps) const {
  const auto& operations = node(A).state().operations;
  if (plain_.may_stop && runs(A)) {
    if (faults_.stall) steps.push_back({Kind::Stall, A});
    if (faults_.kill) {
      steps.push_back({Kind::Kill, A});
      const bool has_commit = !operations.empty() && operations.front().commit() != nullptr;
      if (has_commit && !plain_.processes[A].late) steps.push_back({Kind::KillLate, A});
    }
  }
  if (plain_.may_be_away) steps.push_back({Kind::BeginOutage, 0});
  if (plain_.store.is_away) steps.push_back({Kind::EndOutage, 0});
  if (!plain_.may_forget) return;
  for (std::size_t commits = 0; commits <= ExploredStore::most_undone + 1; ++commits) {
    const bool is_more = commits > plain_.store.undo().size();
    if (!is_more || commits > ExploredStore::most_undone) steps.push_back({Kind::Forget, commits});
  }
}

void ExploredCluster::take(const ExploredStep& step) {
  switch (step.kind) {
    case Kind::Tick:
      tick();
      break;
    case Kind::BeginTurn:
      begin_turn();
      break;
    case Kind::EndTurn:
      end_turn();
      break;
    case Kind::Kill:
    case Kind::KillLate:
    case Kind::Stall:
    case Kind::Wake:
      stop(step);
      break;
    case Kind::BeginOutage:
      plain_.may_be_away = false;
      plain_.store.is_away = true;
      break;
    case Kind::EndOutage:
      plain_.store.is_away = false;
      break;
    case Kind::Forget:
      forget(step.index);
      break;
    default:
      take_node_step(step.kind, step.index);
  }
  check();
  execute_beats();
}

void ExploredCluster::take_node_step(Kind kind, std::size_t index) {
  Process& process = plain_.processes[index];
  switch (kind) {
    case Kind::Execute:
      return execute(index);
    case Kind::ExecuteUnknown:
      return execute_unknown(index);
    case Kind::ApplyLate:
      apply(index, *std::exchange(process.late, std::nullopt), Instant{Duration::min()});
      return;
    case Kind::ApplyStalled: {
      auto operation = change(index).take_operation();
      const CommitResult result = apply(index, *operation.commit(), operation.sent);
      process.answer = Answer{std::move(operation), result};
      return;
    }
    case Kind::Answer:
      return hear(index);
    case Kind::FireTimers:
      change(index).fire_timers(plain_.now);
      break;
    case Kind::Ask:
      if (index == A) plain_.may_ask = false;
      change(index).get_or_create(plain_.now);
      break;
    case Kind::EndFactory:
      change(index).end_factory(plain_.now);
      break;
    default:
      return;
  }
  after(index);
}

// Beats and the readings of beats touch nothing that anything else touches but a fence, so they are
// executed as soon as they are next, in one order. So is all of a store that is away: everybody is
// told the same.
void ExploredCluster::execute_beats() {
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (const bool reads : {faults_.reads_first, !faults_.reads_first}) {
      for (std::size_t i = 0; i < node_count && !is_more; ++i) {
        const bool is_beat = reads ? node(i).is_next_watching() : node(i).is_next_renewal();
        const bool has_one = is_beat && !faults_.has_all_orders;
        const bool is_told = plain_.store.is_away && !node(i).state().operations.empty();
        if (!runs(i) || plain_.processes[i].answer || (!has_one && !is_told)) continue;
        execute(i);
        check();
        is_more = true;
      }
    }
  }
}

// What comes of it.

void ExploredCluster::execute(std::size_t index) {
  const auto operation = change(index).take_operation();
  // The promise about a commit whose outcome was unknown: never after a later one was answered.
  if (!strikes("store.settle-late")) plain_.processes[index].late.reset();
  if (const Commit* commit = operation.commit()) {
    const CommitResult result = apply(index, *commit, operation.sent);
    nodes_[index]->answer(operation, result, plain_.now);
  } else {
    const auto& keys = std::get<ReadKeys>(operation.action).keys;
    nodes_[index]->answer(operation, plain_.store.read(keys), plain_.now);
  }
  after(index);
}

void ExploredCluster::execute_unknown(std::size_t index) {
  plain_.may_be_unknown = false;
  const auto operation = change(index).take_operation();
  plain_.processes[index].late = *operation.commit();
  CommitResult unknown;
  unknown.outcome = CommitResult::Outcome::Unknown;
  nodes_[index]->answer(operation, unknown, plain_.now);
  after(index);
}

CommitResult ExploredCluster::apply(std::size_t index, const Commit& commit, Instant sent) {
  const ExploredStore before = plain_.store;
  const CommitResult result = plain_.store.commit(commit);
  if (result.outcome == CommitResult::Outcome::Ok) check_write(before, index, commit, sent);
  return result;
}

void ExploredCluster::hear(std::size_t index) {
  const Answer answer = *std::exchange(plain_.processes[index].answer, std::nullopt);
  change(index).answer(answer.operation, answer.result, plain_.now);
  after(index);
}

// What a node has just done may be of use to others, and may have been the last that it does.
void ExploredCluster::after(std::size_t index) {
  Process& process = plain_.processes[index];
  const auto outcome = nodes_[index]->take_outcome();
  // Whoever is told where the object lives sends a message there.
  const bool is_asked = outcome && outcome->kind == CreateOutcome::Kind::Existing;
  if (is_asked && !strikes("leftover.keep")) {
    for (std::size_t i = 0; i < node_count; ++i) {
      const auto& stamp = node(i).lease().stamp;
      if (!runs(i) || stamp != outcome->owner) continue;
      change(i).asked_for(outcome->object_generation, plain_.now);
    }
  }
  if (index == A) flush();
  if (!node(index).state().was_fenced) return;
  process.turn.reset();
  process.held.reset();
  if (!node(index).is_idle() || process.answer) return;
  process.is_gone = true;
  change(index).forget_all();
}

void ExploredCluster::stop(const ExploredStep& step) {
  Process& process = plain_.processes[step.index];
  if (step.kind == Kind::Wake) {
    process.is_stalled = false;
    return;
  }
  plain_.may_stop = false;
  process.is_stalled = step.kind == Kind::Stall;
  process.was_stalled = process.is_stalled;
  if (process.is_stalled) return;
  process.is_gone = true;
  process.turn.reset();
  process.held.reset();
  if (step.kind == Kind::KillLate) {
    process.late = *node(step.index).state().operations.front().commit();
  }
  change(step.index).forget_all();
}

// The object of node a runs a turn, which begins while it may and says something when it ends.
void ExploredCluster::begin_turn() {
  plain_.may_turn = false;
  plain_.processes[A].turn = node(A).state().exposed->generation;
}

// Past the deadline it is held, until a renewal lets it go or a fence drops it.
void ExploredCluster::end_turn() {
  Process& process = plain_.processes[A];
  process.held = std::exchange(process.turn, std::nullopt);
  flush();
}

void ExploredCluster::flush() {
  Process& process = plain_.processes[A];
  if (!process.held || !runs(A) || node(A).state().was_fenced) return;
  if (!node(A).admits(plain_.now) && !strikes("flush.past-deadline")) return;
  const ObjectGeneration said = *std::exchange(process.held, std::nullopt);
  const auto& other = node(B).state().exposed;
  if (other && other->generation != said) {
    violate("what a former owner had said left it after another had taken over");
  }
}

void ExploredCluster::tick() {
  plain_.now = plain_.now + explored_tick;
  for (std::size_t i = 0; i < node_count; ++i) {
    if (!runs(i) || !node(i).has_due_timer(plain_.now)) continue;
    change(i).fire_timers(plain_.now);
    after(i);
  }
}

void ExploredCluster::forget(std::size_t commits) {
  plain_.may_forget = false;
  plain_.store.forget(commits);
  plain_.quiet_until = plain_.now + ExploredNode::config().quiet_time();
}

}  // namespace spotmesh::testing

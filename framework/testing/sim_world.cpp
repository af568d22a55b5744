#include "testing/sim_world.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace spotmesh::testing {

std::string_view to_string(SimOutcome outcome) {
  switch (outcome) {
    case SimOutcome::Done:
      return "Done";
    case SimOutcome::TimedOut:
      return "TimedOut";
    case SimOutcome::Stuck:
      return "Stuck";
    case SimOutcome::Runaway:
      return "Runaway";
  }
  return "?";
}

SimWorld::SimWorld(SimOptions options)
    : options_(options), picks_(options.seed, "world picks"), costs_(options.seed, "world costs") {}

SimWorld::~SimWorld() {
  for (const auto& node : nodes_) node->end();
  // A job may hold what posts another one when it ends.
  while (!jobs_.empty()) jobs_.extract(jobs_.begin());
}

void SimWorld::at(Instant when, std::function<void()> job) {
  jobs_.emplace(std::max(when, now_), std::move(job));
}

SimRandom& SimWorld::random(std::string_view stream) {
  auto found = streams_.find(stream);
  if (found == streams_.end()) {
    found = streams_.emplace(stream, std::make_unique<SimRandom>(options_.seed, stream)).first;
  }
  return *found->second;
}

SimNode& SimWorld::add_node(std::string name, SimNodeOptions options) {
  assert(std::none_of(nodes_.begin(), nodes_.end(),
                      [&](const auto& node) { return node->name() == name; }));
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(std::make_unique<SimNode>(*this, std::move(name), number, options));
  return *nodes_.back();
}

SimOutcome SimWorld::run_until(const std::function<bool()>& is_done, Duration limit) {
  const Instant end = now_ + limit;
  for (std::uint64_t steps = 0; !is_done(); ++steps) {
    if (steps >= options_.max_steps) return SimOutcome::Runaway;
    if (now_ >= end) return SimOutcome::TimedOut;
    if (step(end)) continue;
    if (!next_happening()) return SimOutcome::Stuck;
    now_ = end;
  }
  return SimOutcome::Done;
}

SimOutcome SimWorld::run_for(Duration span) {
  const Instant end = now_ + span;
  for (std::uint64_t steps = 0; now_ < end; ++steps) {
    if (steps >= options_.max_steps) return SimOutcome::Runaway;
    if (!step(end)) now_ = end;
  }
  return SimOutcome::Done;
}

SimOutcome SimWorld::run_until_idle() {
  for (std::uint64_t steps = 0; step(now_); ++steps) {
    if (steps >= options_.max_steps) return SimOutcome::Runaway;
  }
  return SimOutcome::Done;
}

std::vector<std::string> SimWorld::violations() const {
  std::vector<std::string> all;
  for (const auto& node : nodes_) {
    for (const std::string& violation : node->turn_checker().violations()) {
      all.push_back(node->name() + ": " + violation);
    }
  }
  return all;
}

void SimWorld::charge_turn(Duration suspension) {
  now_ = now_ + suspension + costs_.between(options_.min_turn_cost, options_.max_turn_cost);
}

std::optional<SimWorld::Happening> SimWorld::next_happening() const {
  std::optional<Happening> next;
  if (!jobs_.empty()) next = Happening{jobs_.begin()->first, nullptr};
  for (const auto& node : nodes_) {
    const auto when = node->next_timer();
    if (when && (!next || *when < next->when)) next = Happening{*when, node.get()};
  }
  return next;
}

void SimWorld::let_happen(const Happening& happening) {
  now_ = std::max(now_, happening.when);
  trace_.fold(static_cast<std::uint64_t>(now_.since_origin.count()));
  if (happening.node != nullptr) {
    happening.node->fire_timers(happening.when);
    return;
  }
  // Taken out first: it may add others.
  const auto job = jobs_.extract(jobs_.begin());
  job.mapped()();
}

bool SimWorld::run_something() {
  std::size_t runnables = 0;
  for (const auto& node : nodes_) runnables += node->runnable_count();
  if (runnables == 0) return false;
  auto pick = static_cast<std::size_t>(random_below(picks_, runnables));
  trace_.fold(runnables * 4096 + pick);
  for (const auto& node : nodes_) {
    if (pick < node->runnable_count()) {
      node->run(pick);
      break;
    }
    pick -= node->runnable_count();
  }
  charge_turn();
  return true;
}

bool SimWorld::step(Instant end) {
  ++steps_;
  const auto next = next_happening();
  if (next && next->when <= now_) {
    let_happen(*next);
    return true;
  }
  if (run_something()) return true;
  if (!next || next->when > end) return false;
  let_happen(*next);
  return true;
}

}  // namespace spotmesh::testing

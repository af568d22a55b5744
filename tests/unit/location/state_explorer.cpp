#include "state_explorer.hpp"

namespace spotmesh::testing {

Explored StateExplorer::run() {
  find({}, 0);
  while (!open_.empty() && explored_.violation.empty()) {
    const auto [index, saved] = std::move(open_.front());
    open_.pop_front();
    expand(index, saved);
    if (states_.size() > most_states_) fail_at(index, "there are more states than may be");
  }
  explored_.states = states_.size();
  explored_.transitions = ways_.size();
  if (explored_.violation.empty()) find_stuck();
  return std::move(explored_);
}

void StateExplorer::expand(std::uint32_t index, const ExploredCluster::Saved& saved) {
  cluster_.bring_back(saved);
  const std::vector<ExploredStep> steps = cluster_.steps();
  if (steps.empty()) return fail_at(index, "nothing can happen any more");
  for (const ExploredStep& step : steps) {
    cluster_.bring_back(saved);
    cluster_.take(step);
    find(step, index);
    if (!explored_.violation.empty()) return;
  }
}

void StateExplorer::find(const ExploredStep& step, std::uint32_t from) {
  const auto next = static_cast<std::uint32_t>(states_.size());
  const auto [known, is_new] = indexes_.try_emplace(cluster_.key(), next);
  const std::uint32_t index = known->second;
  if (is_new) {
    states_.push_back({from, step, cluster_.is_end()});
    if (states_.back().is_end) ++explored_.ends;
  }
  ways_.emplace_back(index, from);
  if (!cluster_.violation().empty()) {
    fail_at(from, cluster_.violation());
    explored_.steps.push_back(step.text());
    return;
  }
  if (is_new) open_.emplace_back(index, cluster_.save());
}

// From everywhere some way leads to an end.
void StateExplorer::find_stuck() {
  std::ranges::sort(ways_);
  std::vector<bool> reaches(states_.size(), false);
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].is_end) continue;
    reaches[i] = true;
    open.push_back(i);
  }
  while (!open.empty()) {
    const std::uint32_t index = open.back();
    open.pop_back();
    auto way = std::ranges::lower_bound(ways_, std::pair(index, std::uint32_t{0}));
    for (; way != ways_.end() && way->first == index; ++way) {
      if (reaches[way->second]) continue;
      reaches[way->second] = true;
      open.push_back(way->second);
    }
  }
  const auto stuck = std::ranges::find(reaches, false);
  if (stuck == reaches.end()) return;
  fail_at(static_cast<std::uint32_t>(stuck - reaches.begin()), "no way leads to an end");
}

void StateExplorer::fail_at(std::uint32_t index, std::string violation) {
  explored_.violation = std::move(violation);
  for (; index != 0; index = states_[index].first_from) {
    explored_.steps.push_back(states_[index].step.text());
  }
  std::ranges::reverse(explored_.steps);
}

}  // namespace spotmesh::testing

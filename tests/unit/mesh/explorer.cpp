#include "explorer.hpp"

#include <algorithm>
#include <unordered_map>

#include "explored_world.hpp"

namespace spotmesh::mesh::testing {
namespace {

class Exploration {
 public:
  explicit Exploration(const ExploreOptions& options) : options_(options), nodes_(options) {}

  ExploreReport run() {
    find(ExploredWorld(nodes_, options_), "the beginning", 0);
    while (!open_.empty() && report_.violation.empty()) {
      const auto [index, world] = std::move(open_.front());
      open_.pop_front();
      for (auto& next : world.nexts()) {
        ++report_.transitions;
        find(std::move(next.world), std::move(next.step), index);
        if (!report_.violation.empty()) break;
      }
      if (states_.size() > options_.most_states) fail_at(index, "there are too many states");
    }
    report_.states = states_.size();
    if (report_.violation.empty()) find_stuck();
    return std::move(report_);
  }

 private:
  struct State {
    std::size_t first_from = 0;
    std::string step;
    bool is_end = false;
    std::vector<std::size_t> from;
  };

  void find(ExploredWorld world, std::string step, std::size_t from) {
    const auto [known, is_new] = indexes_.try_emplace(world.key(), states_.size());
    const std::size_t index = known->second;
    if (is_new) {
      states_.push_back({from, std::move(step), world.is_end(), {}});
      if (states_.back().is_end) ++report_.ends;
    }
    states_[index].from.push_back(from);
    if (!world.violation().empty()) return fail_at(index, world.violation());
    if (is_new) open_.emplace_back(index, std::move(world));
  }

  // From everywhere some way leads to an end.
  void find_stuck() {
    std::vector<bool> reaches(states_.size(), false);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].is_end) continue;
      reaches[i] = true;
      open.push_back(i);
    }
    while (!open.empty()) {
      const std::size_t index = open.back();
      open.pop_back();
      for (const std::size_t from : states_[index].from) {
        if (reaches[from]) continue;
        reaches[from] = true;
        open.push_back(from);
      }
    }
    const auto stuck = std::ranges::find(reaches, false);
    if (stuck == reaches.end()) return;
    fail_at(static_cast<std::size_t>(stuck - reaches.begin()), "no way leads to an end");
  }

  void fail_at(std::size_t index, std::string violation) {
    report_.violation = std::move(violation);
    for (; index != 0; index = states_[index].first_from) {
      report_.steps.push_back(states_[index].step);
    }
    std::ranges::reverse(report_.steps);
  }

  const ExploreOptions options_;
  const ExploredNodes nodes_;
  std::unordered_map<std::string, std::size_t> indexes_;
  std::vector<State> states_;
  std::deque<std::pair<std::size_t, ExploredWorld>> open_;
  ExploreReport report_;
};

}  // namespace

ExploreReport explore(const ExploreOptions& options) { return Exploration(options).run(); }

}  // namespace spotmesh::mesh::testing

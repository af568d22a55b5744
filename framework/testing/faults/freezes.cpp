// A process stands still and goes on.
#include <cstdint>
#include <optional>

#include <spotmesh/testing/fault.hpp>

#include "testing/faults/pick.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

class Freezes final : public Fault {
 public:
  Freezes(std::string_view name, Rhythm rhythm) : Fault(rhythm), name_(name) {}
  std::string_view name() const override { return name_; }

  using Fault::Rhythm;

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    frozen_ = pick_running_node(cluster, chance);
    if (frozen_) cluster.pause(*frozen_);
    return frozen_.has_value();
  }
  void mend(Cluster& cluster) override {
    if (frozen_ && cluster.is_paused(*frozen_)) cluster.resume(*frozen_);
    frozen_.reset();
  }

  const std::string_view name_;
  std::optional<unsigned> frozen_;
};

class Suspensions final : public Fault {
 public:
  Suspensions() : Fault({1s, 15s, 100ms, 5s}) {}
  std::string_view name() const override { return "suspensions"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    node_ = pick_running_node(cluster, chance);
    if (node_) cluster.suspend_in_turn(*node_, chance.between(9s, 14s));
    return node_.has_value();
  }
  void mend(Cluster& cluster) override {
    if (node_) cluster.suspend_in_turn(*node_, 0s);
    node_.reset();
  }

  std::optional<unsigned> node_;
};

// What it has sent to the store last comes there when it has been taken for dead.
class LateCommits final : public Fault {
 public:
  LateCommits() : Fault({1s, 8s, 26s, 40s}) {}
  std::string_view name() const override { return "late commits"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    frozen_ = pick_running_node(cluster, chance);
    if (!frozen_) return false;
    cluster.set_store_late_commits(1000, chance.between(24s, 34s));
    after(chance.between(10ms, 300ms), [this, &cluster, strike = ++strikes_] {
      cluster.set_store_late_commits(0);
      if (strike == strikes_ && frozen_ && cluster.is_running(*frozen_)) cluster.pause(*frozen_);
    });
    return true;
  }
  void mend(Cluster& cluster) override {
    cluster.set_store_late_commits(0);
    if (frozen_ && cluster.is_paused(*frozen_)) cluster.resume(*frozen_);
    frozen_.reset();
  }

  std::optional<unsigned> frozen_;
  std::uint64_t strikes_ = 0;
};

}  // namespace

std::unique_ptr<Fault> faults::late_commits() { return std::make_unique<LateCommits>(); }

std::unique_ptr<Fault> faults::suspensions() { return std::make_unique<Suspensions>(); }

std::unique_ptr<Fault> faults::short_freezes() {
  return std::make_unique<Freezes>("short freezes", Freezes::Rhythm{1s, 10s, 50ms, 9s});
}

std::unique_ptr<Fault> faults::long_freezes() {
  return std::make_unique<Freezes>("long freezes", Freezes::Rhythm{1s, 15s, 12s, 40s});
}

}  // namespace spotmesh::testing

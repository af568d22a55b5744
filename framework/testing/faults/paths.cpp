// The network between nodes: slow, one-way, gone, cut.
#include <set>
#include <utility>

#include <spotmesh/testing/fault.hpp>

#include "testing/faults/pick.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

constexpr Duration shortest_delay = 50us;
constexpr Duration longest_delay = 1ms;

class SlowPaths final : public Fault {
 public:
  SlowPaths() : Fault({100ms, 5s, 500ms, 20s}) {}
  std::string_view name() const override { return "slow paths"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    for (unsigned from = 0; from < cluster.nodes(); ++from) {
      for (unsigned to = 0; to < cluster.nodes(); ++to) {
        if (from == to || chance.one_in(2)) continue;
        const Duration longest = chance.between(1ms, chance.one_in(4) ? Duration(3s) : 200ms);
        cluster.set_path_delay(from, to, chance.between(50us, longest), longest);
      }
    }
    return cluster.nodes() > 1;
  }
  void mend(Cluster& cluster) override {
    for (unsigned from = 0; from < cluster.nodes(); ++from) {
      for (unsigned to = 0; to < cluster.nodes(); ++to) {
        if (from != to) cluster.set_path_delay(from, to, shortest_delay, longest_delay);
      }
    }
  }
};

// Paths that are blocked by one fault. Two faults may block the same one; whoever mends first opens
// it, which is a history like any other.
class Blockade : public Fault {
 protected:
  using Fault::Fault;
  void block(Cluster& cluster, unsigned from, unsigned to) {
    cluster.block_path(from, to);
    blocked_.insert({from, to});
  }

 private:
  void mend(Cluster& cluster) final {
    for (const auto& [from, to] : std::exchange(blocked_, {})) cluster.unblock_path(from, to);
  }

  std::set<std::pair<unsigned, unsigned>> blocked_;
};

class OneWayPartitions final : public Blockade {
 public:
  OneWayPartitions() : Blockade({500ms, 8s, 100ms, 30s}) {}
  std::string_view name() const override { return "one-way partitions"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    const auto pair = pick_pair(cluster, chance);
    if (pair) block(cluster, pair->first, pair->second);
    return pair.has_value();
  }
};

class Partitions final : public Blockade {
 public:
  Partitions() : Blockade({500ms, 8s, 100ms, 30s}) {}
  std::string_view name() const override { return "partitions"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    const auto pair = pick_pair(cluster, chance);
    if (!pair) return false;
    block(cluster, pair->first, pair->second);
    block(cluster, pair->second, pair->first);
    if (chance.one_in(2)) cluster.cut_connections(pair->first, pair->second);
    return true;
  }
};

class Isolations final : public Blockade {
 public:
  Isolations() : Blockade({1s, 12s, 100ms, 40s}) {}
  std::string_view name() const override { return "isolations"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    const auto alone = static_cast<unsigned>(chance.below(cluster.nodes()));
    for (unsigned other = 0; other < cluster.nodes(); ++other) {
      if (other == alone) continue;
      block(cluster, alone, other);
      block(cluster, other, alone);
    }
    return cluster.nodes() > 1;
  }
};

class CutConnections final : public Fault {
 public:
  CutConnections() : Fault({50ms, 6s, 0s, 0s}) {}
  std::string_view name() const override { return "cut connections"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    const auto pair = pick_pair(cluster, chance);
    if (pair) cluster.cut_connections(pair->first, pair->second);
    return pair.has_value();
  }
  void mend(Cluster&) override {}
};

}  // namespace

std::unique_ptr<Fault> faults::slow_paths() { return std::make_unique<SlowPaths>(); }
std::unique_ptr<Fault> faults::one_way_partitions() { return std::make_unique<OneWayPartitions>(); }
std::unique_ptr<Fault> faults::partitions() { return std::make_unique<Partitions>(); }
std::unique_ptr<Fault> faults::isolations() { return std::make_unique<Isolations>(); }
std::unique_ptr<Fault> faults::cut_connections() { return std::make_unique<CutConnections>(); }

}  // namespace spotmesh::testing

// A Location Store that is slow, away, unclear and forgetful.
#include <algorithm>
#include <functional>
#include <optional>

#include <spotmesh/testing/fault.hpp>

#include "testing/faults/pick.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

// Changes how the store behaves, and changes it back.
class StoreMood final : public Fault {
 public:
  StoreMood(std::string_view name, Rhythm rhythm, std::function<void(Cluster&, Chance&)> worsen,
            std::function<void(Cluster&)> restore)
      : Fault(rhythm), name_(name), worsen_(std::move(worsen)), restore_(std::move(restore)) {}
  std::string_view name() const override { return name_; }

  using Fault::Rhythm;

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    worsen_(cluster, chance);
    return true;
  }
  void mend(Cluster& cluster) override { restore_(cluster); }

  const std::string_view name_;
  const std::function<void(Cluster&, Chance&)> worsen_;
  const std::function<void(Cluster&)> restore_;
};

class StoreCutOff final : public Fault {
 public:
  StoreCutOff() : Fault({1s, 12s, 500ms, 40s}) {}
  std::string_view name() const override { return "store cut off"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    node_ = static_cast<unsigned>(chance.below(cluster.nodes()));
    cluster.set_store_available(*node_, false);
    return true;
  }
  void mend(Cluster& cluster) override {
    if (node_) cluster.set_store_available(*node_, true);
    node_.reset();
  }

  std::optional<unsigned> node_;
};

class FailOvers final : public Fault {
 public:
  FailOvers() : Fault({200ms, 40s, 0s, 0s}) {}
  std::string_view name() const override { return "fail-overs"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    cluster.fail_over_store(chance.between(0s, std::min<Duration>(cluster.elapsed(), 5s)));
    return true;
  }
  void mend(Cluster&) override {}
};

}  // namespace

std::unique_ptr<Fault> faults::slow_store() {
  return std::make_unique<StoreMood>(
      "slow store", StoreMood::Rhythm{100ms, 5s, 500ms, 20s},
      [](Cluster& cluster, Chance& chance) {
        cluster.set_store_latency(50us, chance.between(5ms, chance.one_in(4) ? 2s : 400ms));
      },
      [](Cluster& cluster) { cluster.set_store_latency(50us, 1ms); });
}

std::unique_ptr<Fault> faults::store_strays() {
  return std::make_unique<StoreMood>(
      "store strays", StoreMood::Rhythm{1s, 10s, 500ms, 10s},
      [](Cluster& cluster, Chance& chance) {
        cluster.set_store_strays(static_cast<unsigned>(1 + chance.below(30)),
                                 chance.between(1s, 30s));
      },
      [](Cluster& cluster) { cluster.set_store_strays(0); });
}

std::unique_ptr<Fault> faults::store_refusals() {
  return std::make_unique<StoreMood>(
      "store refusals", StoreMood::Rhythm{100ms, 8s, 1s, 20s},
      [](Cluster& cluster, Chance& chance) {
        cluster.set_store_refusals(static_cast<unsigned>(20 + chance.below(200)));
      },
      [](Cluster& cluster) { cluster.set_store_refusals(0); });
}

std::unique_ptr<Fault> faults::unknown_outcomes() {
  return std::make_unique<StoreMood>(
      "unknown outcomes", StoreMood::Rhythm{100ms, 8s, 1s, 20s},
      [](Cluster& cluster, Chance& chance) {
        cluster.set_store_unknowns(static_cast<unsigned>(20 + chance.below(300)));
      },
      [](Cluster& cluster) { cluster.set_store_unknowns(0); });
}

std::unique_ptr<Fault> faults::store_outages() {
  return std::make_unique<StoreMood>(
      "store outages", StoreMood::Rhythm{1s, 15s, 100ms, 60s},
      [](Cluster& cluster, Chance&) { cluster.set_store_available(false); },
      [](Cluster& cluster) { cluster.set_store_available(true); });
}

std::unique_ptr<Fault> faults::lost_hints() {
  return std::make_unique<StoreMood>(
      "lost hints", StoreMood::Rhythm{100ms, 5s, 1s, 30s},
      [](Cluster& cluster, Chance& chance) {
        cluster.set_store_hints(static_cast<unsigned>(chance.below(1001)),
                                static_cast<unsigned>(chance.below(500)), chance.between(5ms, 5s));
      },
      [](Cluster& cluster) { cluster.set_store_hints(0, 0, 5ms); });
}

std::unique_ptr<Fault> faults::store_cut_off() { return std::make_unique<StoreCutOff>(); }
std::unique_ptr<Fault> faults::fail_overs() { return std::make_unique<FailOvers>(); }

}  // namespace spotmesh::testing

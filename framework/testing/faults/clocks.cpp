// Clocks that drift and jump.
#include <spotmesh/testing/fault.hpp>

#include "testing/faults/pick.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::int32_t greatest_drift_ppm = 500;
constexpr auto greatest_wall_step = 86'400'000;  // a day, in milliseconds

class ClockDrift final : public Fault {
 public:
  ClockDrift() : Fault({100ms, 5s, 5s, 60s}) {}
  std::string_view name() const override { return "clock drift"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    for (unsigned node = 0; node < cluster.nodes(); ++node) {
      const auto width = static_cast<std::uint64_t>(2 * greatest_drift_ppm + 1);
      cluster.set_clock_drift(node,
                              static_cast<std::int32_t>(chance.below(width)) - greatest_drift_ppm);
    }
    return true;
  }
  void mend(Cluster& cluster) override {
    for (unsigned node = 0; node < cluster.nodes(); ++node) cluster.set_clock_drift(node, 0);
  }
};

// The wall clock alone: what leases are measured with is a clock that nobody sets, and a machine
// that sleeps is a freeze.
class ClockSteps final : public Fault {
 public:
  ClockSteps() : Fault({1s, 12s, 0s, 0s}) {}
  std::string_view name() const override { return "clock steps"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    const auto node = pick_running_node(cluster, chance);
    if (!node) return false;
    const auto wall = static_cast<std::int64_t>(chance.below(2 * greatest_wall_step));
    cluster.step_wall_clock(*node, std::chrono::milliseconds(wall - greatest_wall_step));
    return true;
  }
  void mend(Cluster&) override {}
};

}  // namespace

std::unique_ptr<Fault> faults::clock_drift() { return std::make_unique<ClockDrift>(); }
std::unique_ptr<Fault> faults::clock_steps() { return std::make_unique<ClockSteps>(); }

}  // namespace spotmesh::testing

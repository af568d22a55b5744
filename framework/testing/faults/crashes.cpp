// A process dies and comes up again.
#include <optional>

#include <spotmesh/testing/fault.hpp>

#include "testing/faults/pick.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

class Crashes final : public Fault {
 public:
  Crashes() : Fault({2s, 20s, 100ms, 10s}) {}
  std::string_view name() const override { return "crashes"; }

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    crashed_ = pick_running_node(cluster, chance);
    if (crashed_) cluster.crash(*crashed_);
    return crashed_.has_value();
  }
  void mend(Cluster& cluster) override {
    if (crashed_ && !cluster.is_running(*crashed_)) cluster.restart(*crashed_);
    crashed_.reset();
  }

  std::optional<unsigned> crashed_;
};

}  // namespace

std::unique_ptr<Fault> faults::crashes() { return std::make_unique<Crashes>(); }

}  // namespace spotmesh::testing

// Clients in trouble.
#include <spotmesh/testing/fault.hpp>

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

class ClientTroubles final : public Fault {
 public:
  ClientTroubles(std::string_view name, ClientTrouble trouble, Rhythm rhythm)
      : Fault(rhythm), name_(name), trouble_(trouble) {}
  std::string_view name() const override { return name_; }

  using Fault::Rhythm;

 private:
  bool strike(Cluster& cluster, Chance& chance) override {
    const std::size_t open = cluster.open_clients();
    if (open > 0) cluster.trouble_client(chance.below(open), trouble_);
    return open > 0;
  }
  // What has vanished stays so until its server notices; who reads slowly goes on.
  void mend(Cluster& cluster) override { cluster.calm_clients(); }

  const std::string_view name_;
  const ClientTrouble trouble_;
};

}  // namespace

std::unique_ptr<Fault> faults::slow_clients() {
  return std::make_unique<ClientTroubles>("slow clients", ClientTrouble::StopsReading,
                                          ClientTroubles::Rhythm{500ms, 8s, 100ms, 20s});
}
std::unique_ptr<Fault> faults::silent_clients() {
  return std::make_unique<ClientTroubles>("silent clients", ClientTrouble::FallsSilent,
                                          ClientTroubles::Rhythm{1s, 10s, 0s, 0s});
}
std::unique_ptr<Fault> faults::vanishing_clients() {
  return std::make_unique<ClientTroubles>("vanishing clients", ClientTrouble::Vanishes,
                                          ClientTroubles::Rhythm{1s, 10s, 0s, 0s});
}
std::unique_ptr<Fault> faults::breaking_clients() {
  return std::make_unique<ClientTroubles>("breaking clients", ClientTrouble::BreaksOff,
                                          ClientTroubles::Rhythm{200ms, 5s, 0s, 0s});
}

}  // namespace spotmesh::testing

#include "objects/core.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "objects/binding_table.hpp"
#include "objects/capacity.hpp"
#include "objects/checkpoints.hpp"
#include "objects/creation_run.hpp"
#include "objects/creations.hpp"
#include "objects/destructions.hpp"
#include "objects/farewells.hpp"
#include "objects/inquiries.hpp"
#include "objects/joins.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_ends.hpp"
#include "objects/peer_port.hpp"
#include "objects/publications.hpp"
#include "objects/reassertions.hpp"
#include "objects/registry.hpp"
#include "objects/remote_bindings.hpp"
#include "objects/remote_sessions.hpp"
#include "objects/requests.hpp"
#include "objects/router.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"
#include "objects/store_port.hpp"
#include "objects/strand_link.hpp"
#include "objects/subscribers.hpp"
#include "objects/subscriptions.hpp"

namespace spotmesh::objects {

NodeIdentity new_identity(const std::string& prefix, Random& random) {
  const std::uint64_t high = random.next_u64();
  return {.rid = NodeRid{fmt::format("{}-{}", prefix, uuid_v4(high, random.next_u64()))},
          .lifecycle = random_id<LifecycleId>(random),
          .prefix = prefix};
}

Core::Core(const FrozenApplication& application, NodeIdentity identity, ObjectsConfig config,
           const Seams& seams)
    : application(application),
      identity(std::move(identity)),
      config(std::move(config)),
      seams(seams),
      strand(seams.scheduler),
      link(std::make_shared<StrandLink>(*this)),
      peers(std::make_unique<PeerPort>(*this)),
      registry(std::make_unique<Registry>()),
      requests(std::make_unique<RequestTable>(*this)),
      capacity(std::make_unique<Capacity>()),
      store(std::make_unique<StorePort>(*this)),
      lease(std::make_unique<LeaseDriver>(*this)),
      operations(std::make_unique<StoreOperations>(*this)),
      directory(std::make_unique<NodeDirectory>(*this)),
      router(std::make_unique<Router>(*this)),
      reassertions(std::make_unique<Reassertions>(*this)),
      checkpoints(std::make_unique<Checkpoints>(*this)),
      creations(std::make_unique<Creations>(*this)),
      destructions(std::make_unique<Destructions>(*this)),
      ends(std::make_unique<PeerEnds>(*this)),
      inquiries(std::make_unique<Inquiries>(*this)),
      joins(std::make_unique<Joins>(*this)),
      farewells(std::make_unique<Farewells>(*this)),
      bindings(std::make_unique<BindingTable>(*this)),
      remote_bindings(std::make_unique<RemoteBindings>(*this)),
      remote_sessions(std::make_unique<RemoteSessions>(*this)),
      subscribers(std::make_unique<Subscribers>(*this)),
      subscriptions(std::make_unique<Subscriptions>(*this)),
      publications(std::make_unique<Publications>(*this)) {}

Core::~Core() { link->cut(); }

runtime::Ref<SpotCell> Core::entry_spot(const MeshTypes& mesh) const {
  const auto found = entry_spots.find(&mesh);
  return found == entry_spots.end() ? runtime::Ref<SpotCell>() : found->second;
}

std::optional<Error> Core::not_admitted(const std::string& what) {
  if (admission.is_open(now())) return {};
  if (is_draining()) return stopping_error();
  return Error::unavailable(what +
                            (reassertions->is_pending()
                                 ? ": this node still tells a store that forgot what it has"
                                 : ": this node's lease has run out and is not renewed yet"));
}

runtime::Ref<SpotCell> Core::ready_entry_spot(const MeshTypes& mesh) const {
  auto spot = entry_spot(mesh);
  return spot && spot->state == CellState::Ready ? std::move(spot) : runtime::Ref<SpotCell>();
}

Error Core::stopping_error() const {
  if (has_lost_lease_.load(std::memory_order_acquire)) {
    return Error::unavailable(fmt::format("node {} has lost its lease", identity.rid.text));
  }
  return Error::shutting_down(fmt::format("node {} is shutting down", identity.rid.text));
}

runtime::Ref<runtime::Gate> Core::new_gate() {
  return runtime::make_ref<runtime::Gate>(runtime::GateEnvironment{.clock = seams.clock,
                                                                   .scheduler = seams.scheduler,
                                                                   .admission = &admission,
                                                                   .observer = seams.observer,
                                                                   .faults = seams.faults});
}

void Core::log(LogLevel level, std::string message, std::vector<LogField> fields) const {
  if (seams.log.is_enabled(level)) {
    seams.log.write(level, "objects", std::move(message), std::move(fields));
  }
}

void Core::quarantine(const Error& error) {
  if (error.kind() != ErrorKind::DataLost) return;
  metrics.quarantined_records.add();
  log(LogLevel::Error, "a record of the Location Store is quarantined: " + error.message());
}

void Core::emit(std::string_view kind, std::string subject, std::vector<LogField> fields) const {
  seams.events.emit({.kind = kind, .subject = std::move(subject), .fields = std::move(fields)});
}

}  // namespace spotmesh::objects

// What a node's object side is handed from outside, and its settings.
#pragma once

#include <cstddef>
#include <string>

#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "base/random.hpp"
#include "location/lease_view.hpp"
#include "location/store.hpp"
#include "runtime/clock.hpp"
#include "runtime/faults.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timers.hpp"
#include "runtime/workers.hpp"

namespace spotmesh::objects {

// All of it outlives the node's object side.
struct Seams {
  runtime::Clock& clock;
  runtime::Scheduler& scheduler;
  runtime::Timers& timers;
  runtime::Workers& workers;
  location::LocationStore& store;
  Random& random;
  LogSink& log;
  EventSink& events;
  runtime::TurnObserver* observer = nullptr;
  // Null in production. Points of its own: "capacity.leak", "destroy.keep-record",
  // "join.joined-twice", "join.skip-leave", "join.skip-commit", "binding.take-stale",
  // "router.lose-resolved", "request.no-deadline", "fence.too-early".
  runtime::Faults* faults = nullptr;
};

// Who this run of the node is.
struct NodeIdentity {
  NodeRid rid;
  LifecycleId lifecycle;
  std::string prefix;  // of the RID and of Entry Spot ids
};

// A fresh identity: `<prefix>-<uuid-v4>` and a random lifecycle. `prefix` is valid.
NodeIdentity new_identity(const std::string& prefix, Random& random);

struct ObjectsConfig {
  std::string application_version;
  bool is_stream_gateway = false;  // for the node's descriptor
  // What this node creates is made here and nowhere else, as on a node without peers; else it is
  // made where placement says.
  bool creates_here = false;
  location::LeaseConfig lease;
  runtime::Mailbox::Bounds mailbox;
  Duration turn_warning_after = limits::turn_warning_after;  // at least 1 ms
  std::size_t requests_in_flight = limits::requests_in_flight_per_node;
  Duration route_cache_max_age = limits::route_cache_max_age;
  std::size_t route_cache_entries = limits::route_cache_entries;
};

}  // namespace spotmesh::objects

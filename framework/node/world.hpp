// World: every seam a node reaches the outside through, handed down from main() or from the
// simulator.
#pragma once

#include "base/log.hpp"
#include "base/random.hpp"
#include "location/store.hpp"
#include "mesh/transport.hpp"
#include "runtime/clock.hpp"
#include "runtime/faults.hpp"
#include "runtime/gate.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timers.hpp"
#include "runtime/workers.hpp"
#include "stream/client_links.hpp"

namespace spotmesh::node {

// Everything outlives the node. What is a pointer may be missing: a node without an object role
// needs no store, one without a gateway no client links, a node of one no transport; the node
// refuses to start when its application needs what is missing.
struct World {
  runtime::Clock& clock;
  runtime::Scheduler& scheduler;
  runtime::Timers& timers;
  runtime::Workers& workers;
  Random& random;
  LogSink& log;
  EventSink& events;
  location::LocationStore* store = nullptr;
  stream::ClientLinks* client_links = nullptr;
  mesh::Transport* transport = nullptr;
  runtime::Faults* faults = nullptr;       // null in production
  runtime::TurnObserver* turns = nullptr;  // the trace hash and the checkers of a simulation
};

}  // namespace spotmesh::node

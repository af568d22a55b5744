// WorldObserver: what watches a whole simulated run, across its nodes.
#pragma once

#include <string_view>

#include <spotmesh/time.hpp>

#include "location/store.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::testing {

class SimNode;
class SimStore;

// Told of things as they happen; must neither throw nor change anything. Checkers are made of it.
class WorldObserver {
 public:
  virtual ~WorldObserver() = default;

  // A turn of that process; a yielded turn ends and starts anew, one that waits goes on, one that
  // is destroyed ends.
  virtual void on_turn_started(const SimNode&, const runtime::Gate&, const runtime::Mailbox&,
                               Instant) {}
  virtual void on_turn_resumed(const SimNode&, const runtime::Gate&, const runtime::Mailbox&,
                               Instant) {}
  virtual void on_turn_ended(const SimNode&, const runtime::Gate&, const runtime::Mailbox&,
                             Instant) {}
  // What a turn of that process has said leaves the turn.
  virtual void on_flush(const SimNode&, const runtime::Gate&, const runtime::Mailbox&) {}
  // All conditions of this client's commit hold and its writes are about to be applied. It was sent
  // then, in the world's time.
  virtual void on_commit(const SimStore&, std::string_view, const location::Commit&, Instant) {}
  // The store has come back with what it remembers, in a new epoch.
  virtual void on_fail_over(const SimStore&) {}
};

}  // namespace spotmesh::testing

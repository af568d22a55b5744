// LeaseDriver: runs this node's lease and its watch over other owners.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>

#include "location/authority.hpp"
#include "location/beat_watch.hpp"
#include "location/lease.hpp"
#include "objects/holdings.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// Strand only.
class LeaseDriver {
 public:
  struct Events {
    std::function<void(Result<void>)> acquired;  // once, the answer to start()
    std::function<void()> epoch_changed;
    std::function<void()> reasserted;
    std::function<void(std::string reason)> fenced;
    std::function<void()> released;  // the answer to release()
  };

  explicit LeaseDriver(Core& core);
  ~LeaseDriver();

  void start(Events events);
  void release();
  // Whether there is a lease to give back: started, and neither lost nor given back.
  bool can_release() const;

  const location::LeaseView& view() const;
  // A new epoch was seen, and the lease does not stand in it yet.
  bool is_reasserting() const;
  // What the last renewal gave holds for this node's turns, unless objects are still to be asserted
  // in a new epoch.
  void extend_admission();
  const location::AuthorityEnvironment& environment() const;
  Holdings& holdings() { return holdings_; }
  // InternalFailure when no generation is left.
  Result<ObjectGeneration> mint();

  void watch(location::OwnerStamp owner);
  // What an answer of the store showed.
  void see_epoch(const location::StoreEpoch& epoch);
  void see_conflict(const std::string& failed_key);

 private:
  class LeaseRun;
  class WatchRun;
  class SweepRun;

  void on_acquired();
  // The lease is lost, or to be given back.
  void on_end();
  void note_renewal();
  void note_lapse();

  Core& core_;
  bool is_started_ = false;
  Holdings holdings_;
  Events events_;
  std::shared_ptr<LeaseRun> lease_;
  std::shared_ptr<WatchRun> watch_;
  std::shared_ptr<SweepRun> sweep_;
  std::optional<location::GenerationMint> mint_;
  std::optional<location::AuthorityEnvironment> environment_;
  // Whoever reads the log learns from which moment to which the node's turns waited.
  StrandTimer lapse_;
  std::optional<Instant> lapsed_since_;
};

}  // namespace spotmesh::objects

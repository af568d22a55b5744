// Reassertions: keeps what this node owns through a store that has forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "location/reassert.hpp"
#include "objects/actor_cell.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// From the moment the lease stands in a new epoch until every object has been asserted there or
// stepped down from, no renewal extends this node's admission: what the last one of the former
// epoch gave holds for all of them, and at its end those that are left are let go. Strand only.
class Reassertions {
 public:
  explicit Reassertions(Core& core);
  ~Reassertions();

  // The lease stands in a new epoch.
  void begin();
  // Whether renewals extend nothing yet.
  bool is_pending() const { return is_pending_; }

  // A commit about the record is under way, and settles first; then settled() takes the object up.
  void unsettled(const std::string& key);
  void settled(const runtime::Ref<ActorCell>& actor);
  // One that was committed to the store just before it forgot.
  void exposed(const runtime::Ref<ActorCell>& actor);
  void exposed(const runtime::Ref<SpotCell>& spot);
  // The object ends, or was stepped down from: nothing is asserted of it any more. `then`, which
  // removes its record, comes once no commit of it is under way: until such a one is answered
  // nothing that is read says what the record will be.
  void forget(const std::string& key, std::function<void()> then);

 private:
  class Run;
  struct Cell {
    runtime::Ref<ActorCell> actor;  // or
    runtime::Ref<SpotCell> spot;
  };

  void assert_all(std::map<std::string, Cell> cells, std::vector<location::HeldObject> objects);
  // Whether it must be asserted now; one that comes too late for that is dropped.
  bool is_wanted(const std::string& key, const Cell& cell, const location::StoreVersion& version);
  bool is_writing(const std::string& key) const;
  void on_leftover(const std::string& key);
  void on_asserted(const Cell& cell, const location::StoreVersion& version);
  void drop(const std::string& key, const Cell& cell, const Error& reason);
  void remove_left(const std::string& key, ObjectGeneration generation);
  void on_closed();
  void look();

  Core& core_;
  bool is_pending_ = false;
  bool is_superseded_ = false;  // yet another epoch came before all was decided
  std::uint64_t round_ = 0;     // new epochs so far; a Run of an earlier one says nothing any more
  Instant closes_at_{};
  StrandTimer closing_;
  std::set<std::string> unsettled_;
  std::multimap<std::string, std::function<void()>> removals_;  // that wait for a commit's answer
  std::vector<std::shared_ptr<Run>> runs_;                      // in the order in which they began
};

}  // namespace spotmesh::objects

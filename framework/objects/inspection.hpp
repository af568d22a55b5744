// Inspection: what a node's object side has, for those who look at it from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/node_descriptor.hpp"
#include "objects/object_state.hpp"
#include "objects/page.hpp"
#include "objects/session_routes.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::objects {

class Core;

// "Serving", for people.
std::string_view name_of(location::HostState state);

struct MailboxRow {
  runtime::Mailbox::Backlog backlog;
  // The turn in progress: the packet or callback that it is for, and its age.
  struct Running {
    std::string what;
    Duration age{};
  };
  std::optional<Running> running;
};

struct ActorRow {
  ActorRef ref;
  std::string type;
  CellState state = CellState::Creating;
  // Of an Actor that is Ready.
  AuthorityOwnerGeneration owner_generation;
  std::optional<SpotRef> spot;
  std::string spot_type;
  bool is_in_transition = false;  // a Join or its end is pending
  std::optional<BindingIdentity> binding;
  MailboxRow mailbox;
};

struct SpotRow {
  SpotRef ref;
  std::string type;
  bool is_entry_spot = false;
  bool shares_gate = false;
  CellState state = CellState::Creating;
  std::size_t members = 0;
  std::size_t transitions = 0;  // Joins and departures that have not ended
  MailboxRow mailbox;
};

struct NodeRow {
  location::NodeDescriptor descriptor;  // of this node: as it is at this moment
  bool is_self = false;
  bool is_reachable = false;
};

// All objects of one type in one mesh. Sums are of one walk over all of them, not of one moment.
struct CensusRow {
  std::string mesh;
  std::string type;
  bool is_spot = false;
  std::uint64_t objects = 0;
  std::uint64_t bound = 0;  // Actors that a session is bound to
  std::uint64_t in_transition = 0;
  std::uint64_t running = 0;  // have a turn in progress
  std::uint64_t application_jobs = 0;
  std::uint64_t control_jobs = 0;
  std::uint64_t longest_application = 0;  // the longest of their application backlogs
  Duration oldest_turn{};
};

// Every call may be made from any thread, and is answered once, on the node's strand, unless the
// node ends before. Bounded work in each job of the strand; no lock is held for longer than a look
// into a small part of a table takes.
class Inspection {
 public:
  // `core` outlives whatever was asked.
  explicit Inspection(Core& core) : core_(core) {}

  // Once the strand has come to it.
  void ping(std::function<void()> done) const;
  // On the strand, as within ping(): a mesh in which this node has stepped down from its Entry
  // Spot.
  std::optional<std::string> mesh_without_entry_spot() const;
  void actors(PageWanted wanted, std::function<void(Page<ActorRow>)> done) const;
  void spots(PageWanted wanted, std::function<void(Page<SpotRow>)> done) const;
  // This node first, then the others that it knows of, by their RID.
  void nodes(std::function<void(std::vector<NodeRow>)> done) const;
  // By mesh, Actors before Spots, and type; types of which there is nothing are left out.
  void census(std::function<void(std::vector<CensusRow>)> done) const;

 private:
  Core& core_;
};

}  // namespace spotmesh::objects

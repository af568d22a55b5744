// What must be so in every state of an explored cluster, what an end is, and which states are one.
#include <algorithm>

#include <fmt/format.h>

#include "explored_cluster.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"

namespace spotmesh::testing {

using namespace location;

namespace {

bool is_of(const Bytes& value, const ExploredNode::Exposed& exposed, const OwnerStamp& owner) {
  const auto record = decode_authority(ExploredNode::object_key(), value);
  return record->state == AuthorityState::Ready && record->owner == owner &&
         record->object_generation == exposed.generation;
}

bool is_fence(const Bytes& value) { return decode_lease("", value)->state == LeaseState::Fenced; }

}  // namespace

bool ExploredCluster::lives(std::size_t index) const {
  if (plain_.processes[index].is_gone || !node(index).admits(plain_.now)) return false;
  // What a factory makes of a reservation that the store forgot is never exposed.
  const auto& reserved_in = node(index).state().reserved_in;
  return node(index).state().exposed ||
         (node(index).state().is_factory_running && reserved_in == node(index).lease().epoch);
}

void ExploredCluster::check() {
  check_life();
  for (std::size_t i = 0; i < node_count; ++i) check_node(i);
}

void ExploredCluster::check_life() {
  if (lives(A) && lives(B)) violate("two nodes run one object");
  for (std::size_t i = 0; i < node_count; ++i) {
    const auto& exposed = node(i).state().exposed;
    if (!exposed || !lives(i)) continue;
    // Nobody knows yet of an epoch that has just begun.
    if (plain_.now < plain_.quiet_until || node(i).lease().epoch != plain_.store.epoch()) continue;
    const auto stored = plain_.store.find(ExploredNode::object_key());
    if (!stored || !is_of(*stored, *exposed, *node(i).lease().stamp)) {
      violate("a node runs an object that the store says is not there");
    }
  }
}

void ExploredCluster::check_node(std::size_t index) {
  const Process& process = plain_.processes[index];
  const ExploredNode::State& state = node(index).state();
  if (state.has_made_twice) violate("a factory ran twice for one incarnation");
  // Nobody is fenced who has never stood still, unless the store has forgotten.
  if (state.was_fenced && !process.was_stalled && !process.is_gone &&
      plain_.store.epoch().high == 1) {
    violate("a node that lives was fenced");
  }
  if (process.is_gone) return;
  const LeaseConfig config = ExploredNode::config();
  if (node(index).admits(plain_.now)) {
    const Instant end = process.renewed_sent == Instant{Duration::min()}
                            ? process.renewed_sent
                            : process.renewed_sent + config.admission_time();
    if (plain_.now >= end) violate("a node admits past the end of its lease");
    const auto lease = plain_.store.find(node(index).lease_key());
    if (lease && is_fence(*lease)) violate("a node that was fenced admits");
  }
  if (!state.create && node(index).lease().is_held && state.slots != (state.exposed ? 1 : 0)) {
    violate("a slot is lost, or counted twice");
  }
  if (is_left_over(index)) violate("the store has what its node has told to have failed");
}

// A record of a node that has it not, and has nothing under way that would see to it. In a store
// that forgot there may be one, until somebody asks for it.
bool ExploredCluster::is_left_over(std::size_t index) const {
  const Process& process = plain_.processes[index];
  const ExploredNode::State& state = node(index).state();
  if (!runs(index) || process.late || process.answer || state.create || state.remove) return false;
  if (plain_.store.epoch().high > 1 || !node(index).lease().is_held) return false;
  const auto stored = plain_.store.find(ExploredNode::object_key());
  if (!stored) return false;
  const auto record = decode_authority(ExploredNode::object_key(), *stored);
  return record->state != AuthorityState::Vacant && record->owner == *node(index).lease().stamp &&
         !state.has.contains(record->object_generation);
}

// Whoever was fenced writes nothing.
void ExploredCluster::check_write(const ExploredStore& before, std::size_t index,
                                  const Commit& commit, Instant sent) {
  const std::string& own_lease = node(index).lease_key();
  const auto lease = before.find(own_lease);
  if (lease && is_fence(*lease)) violate("a node that was fenced has written");
  for (const Write& write : commit.writes) {
    if (write.key == node(index).beat_key() && write.value) {
      Instant& renewed = plain_.processes[index].renewed_sent;
      renewed = std::max(renewed, sent);
    }
    if (write.key == ExploredNode::object_key()) check_object_write(before, write);
    if (write.key == keys::lease_counter()) check_counter_write(write);
    if (write.key.starts_with(keys::lease_prefix)) check_lease_write(before, write);
  }
}

// In the quiet time of a new epoch no object is created or ended; an id that is taken over counts
// it.
void ExploredCluster::check_object_write(const ExploredStore& before, const Write& write) {
  const bool is_quiet = faults_.checks_quiet && plain_.now < plain_.quiet_until;
  if (!write.value) {
    if (is_quiet) violate("an object was ended in the quiet time of a new epoch");
    return;
  }
  const auto record = decode_authority(write.key, *write.value);
  if (is_quiet && record->state != AuthorityState::Ready) {
    violate("an id was reserved in the quiet time of a new epoch");
  }
  const auto stored = before.find(write.key);
  if (!stored) return;
  const auto former = decode_authority(write.key, *stored);
  const bool is_another = former->object_generation != record->object_generation;
  const bool was_life = former->state != AuthorityState::Vacant;
  if (is_another && was_life && record->takeover_count <= former->takeover_count) {
    violate("an id was taken over, and its record does not count it");
  }
}

void ExploredCluster::check_counter_write(const Write& write) {
  const auto counter = decode_lease_counter(write.key, *write.value);
  if (counter->last < plain_.last_lease) violate("the counter of leases went backwards");
  plain_.last_lease = counter->last;
}

void ExploredCluster::check_lease_write(const ExploredStore& before, const Write& write) {
  const auto lease = decode_lease(write.key, *write.value);
  if (is_fence(*write.value) && plain_.now < plain_.quiet_until) {
    violate("a lease was fenced in the quiet time of a new epoch");
  }
  const auto stored = before.find(write.key);
  if (!stored) return;
  const auto former = decode_lease(write.key, *stored);
  if (former->stamp.lease_generation > lease->stamp.lease_generation) {
    violate("a lease generation went backwards");
  }
}

bool ExploredCluster::is_end() const {
  bool is_anybody_left = false;
  bool is_well = false;
  if (plain_.store.is_away || plain_.now < plain_.quiet_until || is_waiting_for_step())
    return false;
  for (std::size_t i = 0; i < node_count; ++i) {
    const Process& process = plain_.processes[i];
    const ExploredNode::State& state = node(i).state();
    if (process.late || process.turn || process.held || process.answer) return false;
    if (!runs(i)) continue;
    if (state.create || state.remove || state.reassert) return false;
    if (state.lease.state() != LeaseMachine::State::Held) return false;
    if (plain_.now < node(i).lease().quiet_until || !node(i).admits(plain_.now)) return false;
    is_anybody_left = is_anybody_left || i == A || i == B;
    is_well = is_well || lives(i);
  }
  return is_well || !is_anybody_left;
}

StateKey ExploredCluster::key() const {
  ExploredNotes notes(plain_.now, plain_.store);
  const ExploredStore& store = plain_.store;
  for (const auto& each : nodes_) notes.know(each->state().minted);
  notes.epoch(store.epoch());
  notes.number((store.is_away ? 1U : 0U) + (plain_.may_stop ? 2U : 0U) +
               (plain_.may_be_unknown ? 4U : 0U) + (plain_.may_be_away ? 8U : 0U) +
               (plain_.may_forget ? 16U : 0U) + (plain_.may_ask ? 32U : 0U) +
               (plain_.may_turn ? 64U : 0U));
  for (const auto& [key, entry] : store.entries()) {
    notes.text(key);
    notes.value(key, entry.value.get());
  }
  for (const auto& undo : store.undo()) {
    for (const auto& [key, value] : undo) {
      notes.text(key);
      notes.value(key, value.get());
    }
    notes.number(undo.size());
  }
  notes.deadline(plain_.quiet_until);
  notes.number(plain_.last_lease.value);
  for (std::size_t i = 0; i < node_count; ++i) note_process(notes, i);
  return notes.key();
}

void ExploredCluster::note_process(ExploredNotes& notes, std::size_t index) const {
  const Process& process = plain_.processes[index];
  notes.number((process.is_gone ? 1U : 0U) + (process.is_stalled ? 2U : 0U) +
               (process.was_stalled ? 4U : 0U) + (process.late ? 8U : 0U) +
               (process.answer ? 16U : 0U) + (process.turn ? 32U : 0U) + (process.held ? 64U : 0U));
  if (process.late) notes.commit(*process.late);
  if (process.is_gone) return;
  if (process.answer) {
    const CommitResult& result = process.answer->result;
    notes.operation(process.answer->operation);
    notes.number(static_cast<std::uint64_t>(result.outcome));
    notes.epoch(result.epoch);
    notes.text(result.failed_key);
    for (std::size_t i = 0; i < result.versions.size(); ++i) {
      notes.version(process.answer->operation.commit()->writes[i].key, result.versions[i]);
    }
  }
  if (process.turn) notes.generation(*process.turn);
  if (process.held) notes.generation(*process.held);
  const Instant never{Duration::min()};
  notes.deadline(process.renewed_sent == never
                     ? never
                     : process.renewed_sent + ExploredNode::config().admission_time());
  notes.node(node(index).state(), process.answer ? &process.answer->operation : nullptr);
}

}  // namespace spotmesh::testing

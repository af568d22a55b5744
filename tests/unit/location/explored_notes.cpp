#include "explored_notes.hpp"

#include "location/records.hpp"

namespace spotmesh::testing {

using namespace location;

bool ExploredNotes::is_of(const ExploredNode::Operation& operation, Ticket ticket) const {
  return operation.part == part_ && operation.ticket() == ticket &&
         operation.serial == node_->serials[static_cast<std::size_t>(part_)];
}

void ExploredNotes::ticket(Ticket ticket) {
  std::uint64_t place = 0;
  if (answered_ != nullptr && is_of(*answered_, ticket)) return number(1);
  for (const auto& operation : node_->operations) {
    ++place;
    if (is_of(operation, ticket)) return number(place + 1);
  }
  number(0);
}

template <typename Machine>
void ExploredNotes::machine(ExploredNode::Part part, const Machine& machine) {
  part_ = part;
  number(machine ? 1 : 0);
  if (machine) machine->note(*this);
}

void ExploredNotes::node(const ExploredNode::State& node, const ExploredNode::Operation* answered) {
  using Part = ExploredNode::Part;
  node_ = &node;
  answered_ = answered;
  machine(Part::Lease, &node.lease);
  machine(Part::Watch, &node.watch);
  machine(Part::Create, node.create);
  machine(Part::Reassert, node.reassert);
  machine(Part::Remove, node.remove);
  for (const auto& timer : node.timers) {
    number(timer ? 1 : 0);
    if (timer) deadline(*timer);
  }
  number(node.watched.size());
  number((node.is_factory_running ? 1U : 0U) + (node.is_deciding ? 2U : 0U) +
         (node.was_fenced ? 4U : 0U) + (node.exposed ? 8U : 0U) + (node.leftover ? 16U : 0U));
  if (node.is_factory_running) epoch(node.reserved_in);
  number(node.has.size());
  for (const ObjectGeneration each : node.has) generation(each);
  generation(node.made);
  generation(node.pending);
  if (node.exposed) {
    generation(node.exposed->generation);
    number(node.exposed->record.takeover_count);
    version(ExploredNode::object_key(), node.exposed->version);
  }
  if (node.leftover) generation(*node.leftover);
  deadline(node.admission);
  number(static_cast<std::uint64_t>(node.slots));
  number(node.operations.size());
  for (const auto& each : node.operations) operation(each);
}

void ExploredNotes::generation(ObjectGeneration generation) {
  const std::uint64_t lease = generation.value >> 32;
  number(lease);
  for (const std::uint64_t minted : minted_) {
    if (minted >> 32 == lease) number(minted - generation.value);
  }
}

void ExploredNotes::value(std::string_view key, const Bytes* value) {
  number(value == nullptr ? 0 : 1);
  // What a beat says means nothing.
  if (value == nullptr || key.starts_with(keys::beat_prefix)) return;
  if (!key.starts_with(keys::actor_prefix)) return text(as_text(*value));
  const auto record = decode_authority(key, *value);
  number(static_cast<std::uint64_t>(record->state));
  generation(record->object_generation);
  number(record->takeover_count);
  epoch(record->reserved_in);
  text(record->owner.owner.text());
  // Those that are past their time are never read again, but for how many they are.
  number(record->terminals.size());
}

void ExploredNotes::commit(const Commit& commit) {
  number(commit.epoch ? commit.epoch->high : 0);
  for (const Condition& condition : commit.conditions) {
    text(condition.key);
    number(condition.version ? 1 : 0);
    if (condition.version) version(condition.key, *condition.version);
  }
  for (const Write& write : commit.writes) {
    text(write.key);
    value(write.key, write.value ? &*write.value : nullptr);
  }
}

void ExploredNotes::operation(const ExploredNode::Operation& operation) {
  number(static_cast<std::uint64_t>(operation.part));
  moment(operation.sent);
  if (const Commit* of_it = operation.commit()) return commit(*of_it);
  for (const std::string& key : std::get<ReadKeys>(operation.action).keys) text(key);
}

}  // namespace spotmesh::testing

// The identity of an explored state: 128 bits of everything that what follows depends on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "explored_node.hpp"
#include "explored_store.hpp"
#include "location/state_notes.hpp"

namespace spotmesh::testing {

struct StateKey {
  std::uint64_t high = 0x9e3779b97f4a7c15ULL;
  std::uint64_t low = 0xcbf29ce484222325ULL;
  friend bool operator==(const StateKey&, const StateKey&) = default;
};

struct StateKeyHash {
  std::size_t operator()(const StateKey& key) const { return key.low; }
};

class ExploredNotes : public location::StateNotes {
 public:
  ExploredNotes(Instant now, const ExploredStore& store) : now_(now), store_(store) {}

  const StateKey& key() const { return key_; }
  // The latest incarnations of all nodes: generations are noted by their distance from these.
  void know(ObjectGeneration minted) { minted_.push_back(minted.value); }

  void number(std::uint64_t value) override {
    key_.high = mixed(key_.high ^ value);
    key_.low = mixed(key_.low + value * 0xd6e8feb86659fd93ULL + 1);
  }
  void text(std::string_view value) override { number(std::hash<std::string_view>{}(value)); }
  void deadline(Instant at) override { number(at <= now_ ? 0 : ticks(at - now_)); }
  void moment(Instant at) override {
    number(std::min<std::uint64_t>(
        now_.since_origin - at.since_origin > oldest ? ticks(oldest) : ticks(now_ - at),
        ticks(oldest)));
  }
  void version(std::string_view key, const location::StoreVersion& version) override {
    location::StateNotes::epoch(version.epoch);
    number(store_.version(key) == version ? 1 : 0);
  }
  void ticket(location::Ticket ticket) override;
  void generation(ObjectGeneration generation) override;
  // Every pause is over at the next tick, however many there were.
  void failures(unsigned) override {}

  // The answer to an operation that was heard of by nobody yet, if there is one, counts as the
  // operation under way.
  void node(const ExploredNode::State& node, const ExploredNode::Operation* answered);
  void commit(const location::Commit& commit);
  void operation(const ExploredNode::Operation& operation);
  void value(std::string_view key, const Bytes* value);

 private:
  template <typename Machine>
  void machine(ExploredNode::Part part, const Machine& machine);
  bool is_of(const ExploredNode::Operation& operation, location::Ticket ticket) const;

  // Nothing asks whether something is longer ago than a gap and a quiet time together.
  static constexpr Duration oldest = std::chrono::seconds(10);

  static std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 32)) * 0xe9846af9b1a615dULL;
    value = (value ^ (value >> 32)) * 0xe9846af9b1a615dULL;
    return value ^ (value >> 28);
  }
  static std::uint64_t ticks(Duration duration) {
    return static_cast<std::uint64_t>((duration + explored_tick - Duration(1)) / explored_tick);
  }

  StateKey key_;
  const Instant now_;
  const ExploredStore& store_;
  std::vector<std::uint64_t> minted_;
  const ExploredNode::State* node_ = nullptr;
  const ExploredNode::Operation* answered_ = nullptr;
  ExploredNode::Part part_ = ExploredNode::Part::Lease;
};

}  // namespace spotmesh::testing

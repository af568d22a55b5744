// Ledger: what the checking game has seen, across all nodes of a run, and what was wrong with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/testing/cluster.hpp>
#include <spotmesh/time.hpp>

namespace probe {

// One incarnation of one Actor.
struct Life {
  std::string id;
  std::uint64_t generation = 0;
  friend auto operator<=>(const Life&, const Life&) = default;
};

class Ledger {
 public:
  // Before anything happens; outlives the cluster's clients, not its objects.
  void watch(const spotmesh::testing::Cluster& cluster) { cluster_ = &cluster; }
  void complain(std::string what);
  std::vector<std::string> take_complaints() { return std::exchange(complaints_, {}); }

  // Whose turn it is on a gate of that name; two at once are a complaint.
  class Stretch;

  void born(const Life& life);
  // It handles something, so it can be found. (A node that does not know yet whether the commit of
  // a creation was applied has the Actor in the store and nowhere else.)
  void ready(const Life& life);
  void died(const Life& life);
  bool is_living(const Life& life) const;

  // Words from one life to an id, numbered from 1. Sent: its submit has said so.
  std::uint32_t next_word(const Life& from, const std::string& to);
  void sent(const Life& from, const std::string& to, std::uint32_t number);
  void received(const Life& from, const Life& to, std::uint32_t number);
  // After everything has come to rest: words that somebody who still lives should have got.
  void check_losses(spotmesh::Duration route_age);

  // Time itself counts only some time after the last fault: a node that woke with it admits nothing
  // before its lease is renewed, which takes up to the renew timeout and a pause.
  void set_calm() { calm_since_ = now(); }
  bool is_calm() const {
    return calm_since_.has_value() && now() - *calm_since_ > std::chrono::seconds(4);
  }
  spotmesh::Duration now() const {
    return cluster_ == nullptr ? spotmesh::Duration{} : cluster_->elapsed();
  }

 private:
  struct Dates {
    spotmesh::Duration ready{};
    bool is_ready = false;
    bool is_living = true;
  };
  struct Pair {
    std::uint32_t next = 1;
    std::uint32_t last_received = 0;
    std::set<std::uint32_t> received;
    std::map<std::uint32_t, spotmesh::Duration> sent;
  };

  const spotmesh::testing::Cluster* cluster_ = nullptr;
  std::optional<spotmesh::Duration> calm_since_;
  std::map<Life, Dates> lives_;
  std::map<std::pair<Life, std::string>, Pair> pairs_;
  std::set<std::string, std::less<>> occupied_;
  std::vector<std::string> complaints_;
};

// A stretch of a handler or callback from its start, or from the end of a yield, to its end or to
// the next yield. One per gate at a time.
class Ledger::Stretch {
 public:
  Stretch(Ledger& ledger, std::string gate, std::string_view what);
  ~Stretch() { leave(); }
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

  // Around a yield.
  void leave();
  void enter();

 private:
  Ledger& ledger_;
  const std::string gate_;
  const std::string_view what_;
  bool is_inside_ = false;
};

}  // namespace probe

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

#include "bulletins.hpp"
#include "life.hpp"

namespace probe {

class Ledger {
 public:
  // Before anything happens; outlives the cluster's clients, not its objects.
  void watch(const spotmesh::testing::Cluster& cluster) { cluster_ = &cluster; }
  void complain(std::string what);
  std::vector<std::string> take_complaints() { return std::exchange(complaints_, {}); }

  // Whose turn it is on a gate of that name; two at once are a complaint.
  class Stretch;
  // A call that has to end.
  class Pending;
  void check_pending();

  void born(const Life& life);
  // It handles something, so it can be found. (A node that does not know yet whether the commit of
  // a creation was applied has the Actor in the store and nowhere else.)
  void ready(const Life& life);
  void died(const Life& life);
  bool is_living(const Life& life) const;
  std::optional<spotmesh::Duration> ready_since(const Life& life) const;
  // Somebody was told that it has ended, or had: it runs no turn any more, and nobody finds it,
  // unless a store has forgotten the end: it then has a record until its owner is asked for it.
  void gone(const Life& life);
  void runs(const Life& life);
  // An operator is about to end whoever lives under the id, wherever he is.
  void will_be_ended(const std::string& id) { ended_by_operator_.insert(id); }
  bool is_ended_by_operator(const std::string& id) const { return ended_by_operator_.contains(id); }
  // Somebody was given it as one who lives, by a call that began then. A room is ready from then on
  // at the latest: its creation may go on for long after who asked for it has given it up.
  void found(const Life& life, spotmesh::Duration begun);

  // Words from one life to an id, numbered from 1. Sent: its submit has said so.
  std::uint32_t next_word(const Life& from, const std::string& to);
  void sent(const Life& from, const std::string& to, std::uint32_t number);
  void received(const Life& from, const Life& to, std::uint32_t number);
  std::size_t words_received(const Life& from, const Life& to) const;
  // After everything has come to rest: words that somebody who still lives should have got.
  void check_losses(spotmesh::Duration route_age);
  Bulletins& bulletins() { return bulletins_; }

  // Time itself counts only some time after the last fault: a node that woke with it admits nothing
  // before its lease is renewed, which takes up to the renew timeout and a pause.
  void set_calm() { calm_since_ = now(); }
  bool is_calm() const {
    return calm_since_.has_value() && now() - *calm_since_ > std::chrono::seconds(4);
  }
  // Whether the store has failed over by now, and may have forgotten what it was told.
  bool has_forgetful_store() const { return !cluster_->store_fail_overs().empty(); }
  spotmesh::Duration now() const {
    return cluster_ == nullptr ? spotmesh::Duration{} : cluster_->elapsed();
  }

 private:
  // Whether a store has forgotten an end that somebody was told of then.
  bool is_forgotten(spotmesh::Duration told) const;

  struct Dates {
    spotmesh::Duration ready{};
    // By it itself. Its node refuses words for one whose creation has been committed, and found by
    // others, before it has the store's answer.
    std::optional<spotmesh::Duration> served;
    std::optional<spotmesh::Duration> gone;
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
  std::multiset<std::string> pending_;
  std::set<std::string> ended_by_operator_;
  std::vector<std::string> complaints_;
  Bulletins bulletins_{*this};
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

// Somebody waits for what he has called, as long as this lives.
class Ledger::Pending {
 public:
  Pending(Ledger& ledger, std::string what)
      : ledger_(ledger), place_(ledger.pending_.insert(std::move(what))) {}
  ~Pending() { ledger_.pending_.erase(place_); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

 private:
  Ledger& ledger_;
  const std::multiset<std::string>::iterator place_;
};

}  // namespace probe

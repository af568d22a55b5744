// TurnWatch: finds turns that do not end.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include <spotmesh/time.hpp>

#include "objects/store_port.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::objects {

class Core;

// Looks at all mailboxes from outside, so that a handler that computes for ever is found as well as
// one that waits for ever, and one that waits without its gate. Of each mailbox, also of each timer
// of a PerActor Spot, the turn that began first is told of when it is older than the limit, and
// again whenever its age has doubled: a warning with owner, packet or callback and age, the metric
// and an event. All other gates go on. Strand only.
class TurnWatch {
 public:
  explicit TurnWatch(Core& core);
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;

  void start();
  void stop();

 private:
  struct Stuck {
    std::string owner;  // "Actor 'x'"
    std::string what;
    Instant since;
    std::string id;
    friend auto operator<=>(const Stuck&, const Stuck&) = default;
  };

  void begin_round();
  void look_at_shards(std::size_t first);
  template <typename Cell>
  std::size_t look_at(std::size_t shard);
  template <typename Cell>
  void look_at(const Cell& cell, const runtime::Mailbox& mailbox, Instant now);
  void end_round();
  void report(const Stuck& stuck, Duration age);
  // A few looks per limit: a turn is reported at most so much later.
  Duration interval() const;

  Core& core_;
  StrandTimer timer_;
  bool is_running_ = false;
  std::set<Stuck> found_;           // in this round
  std::map<Stuck, Duration> told_;  // their age then
};

}  // namespace spotmesh::objects

// TurnWatch: finds turns that do not end.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/time.hpp>

#include "objects/store_port.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::objects {

class Core;

// Looks at all mailboxes from outside, so that a handler that computes for ever is found as well as
// one that waits for ever. Such a turn keeps its own gate; all others go on. Reported with its
// owner, packet or callback and age, once it is older than the limit and again whenever its age has
// doubled: a warning, the metric and an event. Strand only.
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
    std::string id;
    runtime::Mailbox::RunningTurn turn;
  };
  struct Told {
    Instant since;
    Duration age;
  };

  void begin_round();
  void look_at_shards(std::size_t first);
  template <typename Cell>
  std::size_t look_at(std::size_t shard);
  void end_round();
  void report(const Stuck& stuck, Duration age);
  // A few looks per limit: a turn is reported at most so much later.
  Duration interval() const;

  Core& core_;
  StrandTimer timer_;
  bool is_running_ = false;
  std::vector<Stuck> found_;          // in this round
  std::map<std::string, Told> told_;  // by owner
};

}  // namespace spotmesh::objects

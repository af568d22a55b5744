// TimerLane: one timer key of a PerActor Spot, with a gate and a mailbox of its own.
#pragma once

#include <memory>
#include <string_view>

#include "objects/claims.hpp"
#include "objects/live_gates.hpp"
#include "runtime/gate.hpp"
#include "runtime/keyed_timers.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::objects {

class Core;

// Part of the Spot's cell, which its mailbox keeps alive.
class TimerLane {
 public:
  TimerLane(Core& core, runtime::RefCounted& spot, runtime::TimerOwner& owner,
            std::string_view key);
  ~TimerLane();
  TimerLane(const TimerLane&) = delete;
  TimerLane& operator=(const TimerLane&) = delete;

  std::string_view key() const { return key_; }
  runtime::Gate& gate() { return *gate_; }
  runtime::Mailbox& mailbox() { return mailbox_; }
  Claims& claims() { return claims_; }
  runtime::KeyedTimers& timers() { return timers_; }

 private:
  const std::string_view key_;
  runtime::Ref<runtime::Gate> gate_;
  const std::shared_ptr<LiveGates> gates_;
  runtime::Mailbox mailbox_;
  Claims claims_;
  runtime::KeyedTimers timers_;
};

}  // namespace spotmesh::objects

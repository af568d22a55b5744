// TopicMarkRun: one mark of this node in the store, from when it is first wanted until it is gone.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "location/keys.hpp"
#include "location/topic_mark.hpp"
#include "objects/lease_driver.hpp"
#include "objects/machine_driver.hpp"
#include "objects/topic_key.hpp"

namespace spotmesh::objects {

// Strand only. The lease is held when it is made.
class TopicMarkRun final : public MachineDriver<TopicMarkRun, location::topic_mark::Event> {
 public:
  struct Events {
    std::function<void(const std::vector<location::OwnerStamp>& others)> standing;
    std::function<void(const std::vector<location::OwnerStamp>& others)> cleared;
    std::function<void(const Error& reason)> delayed;
  };

  TopicMarkRun(Core& core, const TopicKey& key, location::TopicSide side, Events events)
      : MachineDriver(core),
        key_(key),
        events_(std::move(events)),
        machine_(stored_name(key), side, core.lease->view(), core.seams.random) {}

  location::TopicMarkMachine& machine() { return machine_; }

  void perform(location::topic_mark::Standing& action) { events_.standing(action.others); }
  void perform(location::topic_mark::Cleared& action) { events_.cleared(action.others); }
  void perform(location::topic_mark::Delayed& action) { events_.delayed(action.error); }
  void perform(location::topic_mark::BadRecord& action) {
    core_.log(LogLevel::Error,
              "a mark of " + name_of(key_) + " is left alone: " + action.error.message());
  }

 private:
  const TopicKey key_;
  const Events events_;
  location::TopicMarkMachine machine_;
};

}  // namespace spotmesh::objects

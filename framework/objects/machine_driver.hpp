// MachineDriver: runs one sans-I/O machine on the strand.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "location/machine.hpp"
#include "objects/core.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

// `Derived` has machine(), an overload of perform() for each action beyond the four that are the
// same everywhere, and lives in a shared_ptr: what is under way keeps it. Strand only.
template <typename Derived, typename Event>
class MachineDriver : public std::enable_shared_from_this<Derived> {
 public:
  explicit MachineDriver(Core& core) : core_(core), timer_(core, [this] { fire(); }) {}
  MachineDriver(const MachineDriver&) = delete;
  MachineDriver& operator=(const MachineDriver&) = delete;

  // Events that come up while an action is done wait for the other actions.
  void feed(Event event) {
    events_.push_back(std::move(event));
    if (is_feeding_) return;
    const auto self = this->shared_from_this();
    is_feeding_ = true;
    while (!events_.empty()) {
      const Event next = std::move(events_.front());
      events_.pop_front();
      for (auto& action : derived().machine().on_event(next, core_.now())) {
        std::visit([this](auto& each) { this->act(each); }, action);
      }
    }
    is_feeding_ = false;
  }

 protected:
  ~MachineDriver() = default;
  Core& core_;

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }

  void act(location::ReadKeys& action) {
    core_.store->read(std::move(action.keys),
                      [self = this->shared_from_this(),
                       ticket = action.ticket](Result<location::ReadResult> result) {
                        self->feed(location::ReadDone{ticket, std::move(result)});
                      });
  }
  void act(location::ScanKeys& action) {
    core_.store->scan(
        std::move(action.prefix), std::move(action.cursor), action.limit,
        [self = this->shared_from_this(), ticket = action.ticket](Result<location::ScanPage> page) {
          self->feed(location::PageDone{ticket, std::move(page)});
        });
  }
  void act(location::CommitKeys& action) {
    core_.store->commit(
        std::move(action.commit),
        [self = this->shared_from_this(), ticket = action.ticket](location::CommitResult result) {
          self->feed(location::CommitDone{ticket, std::move(result)});
        });
  }
  void act(location::ArmTimer& action) {
    core_.store->keep(this->shared_from_this());
    timer_.arm(action.deadline);
  }
  void act(location::CancelTimer&) {
    timer_.cancel();
    core_.store->let_go(&derived());
  }
  void fire() {
    const auto self = this->shared_from_this();
    core_.store->let_go(&derived());
    feed(location::TimerFired{});
  }
  template <typename Action>
  void act(Action& action) {
    derived().perform(action);
  }

  StrandTimer timer_;
  std::deque<Event> events_;
  bool is_feeding_ = false;
};

}  // namespace spotmesh::objects

// Runs one machine on a store and simulated time, as its driver does in production.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "location/machine.hpp"
#include "location/store.hpp"
#include "support/manual_time.hpp"

namespace spotmesh::testing {

// Whatever is no store operation and no timer goes to `on_action`; scans are shown to it as well.
template <typename Machine, typename Event, typename Action>
class MachineRig {
 public:
  MachineRig(Machine& machine, location::LocationStore& store, ManualTime& time)
      : machine_(machine), store_(store), time_(time) {}
  ~MachineRig() { *is_alive_ = false; }
  MachineRig(const MachineRig&) = delete;
  MachineRig& operator=(const MachineRig&) = delete;

  std::function<void(const Action&)> on_action = [](const Action&) {};
  // Of every answer of the store, for the node's lease.
  std::function<void(const location::StoreEpoch&, const std::string& failed_key)> on_answer =
      [](const auto&, const auto&) {};

  void feed(Event event) {
    if (is_stopped_) {
      missed_.push_back(std::move(event));
      return;
    }
    for (const Action& action : machine_.on_event(event, time_.now())) {
      std::visit([&](const auto& each) { act(each, action); }, action);
    }
  }
  // A stopped process: time goes on for everybody else.
  void stop() { is_stopped_ = true; }
  void go_on() {
    is_stopped_ = false;
    for (Event& event : std::exchange(missed_, {})) feed(std::move(event));
  }

 private:
  void act(const location::ReadKeys& read, const Action&) {
    store_.read(read.keys, [this, alive = is_alive_, ticket = read.ticket](auto result) {
      if (!*alive) return;
      if (result) on_answer(result->epoch, {});
      feed(location::ReadDone{ticket, std::move(result)});
    });
  }
  void act(const location::CommitKeys& commit, const Action&) {
    store_.commit(commit.commit, [this, alive = is_alive_, ticket = commit.ticket](auto result) {
      if (!*alive) return;
      using Outcome = location::CommitResult::Outcome;
      if (result.outcome == Outcome::Ok || result.outcome == Outcome::Conflict) {
        on_answer(result.epoch, result.failed_key);
      }
      feed(location::CommitDone{ticket, std::move(result)});
    });
  }
  void act(const location::ScanKeys& scan, const Action& action) {
    on_action(action);
    store_.scan(scan.prefix, scan.cursor, scan.limit,
                [this, alive = is_alive_, ticket = scan.ticket](auto page) {
                  if (!*alive) return;
                  if (page) on_answer(page->epoch, {});
                  feed(location::PageDone{ticket, std::move(page)});
                });
  }
  void act(const location::ArmTimer& timer, const Action&) {
    time_.at(timer.deadline, [this, alive = is_alive_, arming = ++arming_] {
      if (*alive && arming == arming_) feed(location::TimerFired{});
    });
  }
  void act(const location::CancelTimer&, const Action&) { ++arming_; }
  template <typename Other>
  void act(const Other&, const Action& action) {
    on_action(action);
  }

  Machine& machine_;
  location::LocationStore& store_;
  ManualTime& time_;
  std::uint64_t arming_ = 0;
  bool is_stopped_ = false;
  std::vector<Event> missed_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace spotmesh::testing

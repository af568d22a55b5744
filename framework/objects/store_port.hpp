// StorePort: the Location Store as the strand uses it, and timers for the strand.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "location/store.hpp"
#include "objects/strand_link.hpp"
#include "runtime/timers.hpp"

namespace spotmesh::objects {

class Core;

// Says in the log when the store begins and ceases to be away, once each.
class StoreWatch {
 public:
  // `what` the store is asked for, a literal.
  explicit StoreWatch(std::string_view what) : what_(what) {}
  // What became of an operation: the error when the store was away, null when it answered.
  void note(const Core& core, const Error* away);

 private:
  const std::string_view what_;
  std::optional<Instant> away_since_;
};

// Answers come as jobs of the strand; after the node's end they go nowhere. Each answer's
// epoch is shown to the lease before the caller sees it. Strand only.
class StorePort {
 public:
  explicit StorePort(Core& core);
  StorePort(const StorePort&) = delete;
  StorePort& operator=(const StorePort&) = delete;

  void read(std::vector<std::string> keys, location::ReadCallback done);
  void scan(std::string prefix, std::string cursor, std::size_t limit, location::ScanCallback done);
  void commit(location::Commit commit, location::CommitCallback done);
  // Hints for this prefix, as jobs of the strand, until the node ends.
  void watch(std::string prefix, location::HintCallback hint);

  // What waits for nothing but a timer is kept here, until it is let go or the port ends.
  void keep(std::shared_ptr<void> waiting) { kept_[waiting.get()] = std::move(waiting); }
  void let_go(void* waiting) { kept_.erase(waiting); }

 private:
  Core& core_;
  std::unordered_map<void*, std::shared_ptr<void>> kept_;
  StoreWatch reads_{"reads"};
  StoreWatch commits_{"commits"};
};

// One timer whose expiry is a job of the strand. Made, armed and cancelled on the strand; what
// keeps it may outlive the node.
class StrandTimer final : private runtime::TimerEntry {
 public:
  StrandTimer(Core& core, std::function<void()> fired);
  ~StrandTimer() override;
  StrandTimer(const StrandTimer&) = delete;
  StrandTimer& operator=(const StrandTimer&) = delete;

  // Arms it anew; an earlier arming is void.
  void arm(Instant deadline);
  void cancel();

 private:
  struct Shared {
    std::function<void()> fired;
    std::uint64_t arming = 0;  // strand only; 0: not armed
  };
  void on_timer(Instant now) override;

  runtime::Timers& timers_;
  const std::shared_ptr<StrandLink> link_;
  std::shared_ptr<Shared> shared_;
  std::uint64_t armings_ = 0;
  std::atomic<std::uint64_t> armed_{0};
};

}  // namespace spotmesh::objects

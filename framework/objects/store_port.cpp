#include "objects/store_port.hpp"

#include <utility>

#include "objects/core.hpp"
#include "objects/lease_driver.hpp"

namespace spotmesh::objects {

StorePort::StorePort(Core& core) : core_(core), link_(std::make_shared<Link>()) {
  link_->core = &core;
}

StorePort::~StorePort() {
  std::lock_guard lock(link_->mutex);
  link_->core = nullptr;
}

void StorePort::post(const std::shared_ptr<Link>& link, std::function<void(Core&)> job) {
  std::lock_guard lock(link->mutex);
  if (link->core == nullptr) return;
  link->core->strand.post([core = link->core, job = std::move(job)] { job(*core); });
}

void StorePort::read(std::vector<std::string> keys, location::ReadCallback done) {
  core_.metrics.store_reads.add();
  core_.seams.store.read(
      std::move(keys), [link = link_, done = std::move(done)](Result<location::ReadResult> result) {
        post(link, [done, result = std::move(result)](Core& core) {
          if (result) core.lease->see_epoch(result->epoch);
          done(result);
        });
      });
}

void StorePort::commit(location::Commit commit, location::CommitCallback done) {
  core_.metrics.store_commits.add();
  core_.seams.store.commit(
      std::move(commit), [link = link_, done = std::move(done)](location::CommitResult result) {
        post(link, [done, result = std::move(result)](Core& core) {
          using Outcome = location::CommitResult::Outcome;
          if (result.outcome == Outcome::Ok || result.outcome == Outcome::Conflict) {
            core.lease->see_epoch(result.epoch);
          }
          if (result.outcome == Outcome::Conflict) core.lease->see_conflict(result.failed_key);
          done(result);
        });
      });
}

StrandTimer::StrandTimer(Core& core, std::function<void()> fired)
    : core_(core), shared_(std::make_shared<Shared>(Shared{std::move(fired)})) {}

StrandTimer::~StrandTimer() { cancel(); }

void StrandTimer::arm(Instant deadline) {
  cancel();
  shared_->arming = ++armings_;
  armed_.store(armings_, std::memory_order_release);
  core_.seams.timers.arm(*this, deadline);
}

void StrandTimer::cancel() {
  core_.seams.timers.cancel(*this);
  shared_->arming = 0;
}

void StrandTimer::on_timer(Instant) {
  core_.strand.post([shared = shared_, arming = armed_.load(std::memory_order_acquire)] {
    if (shared->arming != arming) return;
    shared->arming = 0;
    shared->fired();
  });
}

}  // namespace spotmesh::objects

#include "objects/store_port.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/lease_driver.hpp"

namespace spotmesh::objects {

void StrandLink::post(std::function<void(Core&)> job) {
  std::lock_guard lock(mutex_);
  if (core_ == nullptr) return;
  // A copy, so that what the job keeps never ends under the lock, also when the strand drops it:
  // its end may cancel a timer, which waits for one that wants this lock.
  core_->strand.post([core = core_, job] { job(*core); });
}

void StrandLink::cut() {
  std::lock_guard lock(mutex_);
  core_ = nullptr;
}

void StoreWatch::note(const Core& core, const Error* away) {
  if (away_since_.has_value() == (away != nullptr)) return;
  if (away != nullptr) {
    away_since_ = core.now();
    core.log(LogLevel::Warning, fmt::format("the Location Store answers no {}", what_),
             {{"store", core.seams.store.describe()}, {"reason", away->message()}});
  } else {
    const auto seconds = std::chrono::duration<double>(core.now() - *away_since_).count();
    away_since_.reset();
    core.log(LogLevel::Info, fmt::format("the Location Store answers {} again", what_),
             {{"away", fmt::format("{:.1f} s", seconds)}});
  }
}

StorePort::StorePort(Core& core) : core_(core) {}

void StorePort::read(std::vector<std::string> keys, location::ReadCallback done) {
  core_.metrics.store_reads.add();
  core_.seams.store.read(std::move(keys), [link = core_.link, done = std::move(done)](
                                              Result<location::ReadResult> result) {
    link->post([done, result = std::move(result)](Core& core) {
      core.store->reads_.note(core, result ? nullptr : &result.error());
      if (result) core.lease->see_epoch(result->epoch);
      done(result);
    });
  });
}

void StorePort::scan(std::string prefix, std::string cursor, std::size_t limit,
                     location::ScanCallback done) {
  core_.metrics.store_reads.add();
  core_.seams.store.scan(
      std::move(prefix), std::move(cursor), limit,
      [link = core_.link, done = std::move(done)](Result<location::ScanPage> page) {
        link->post([done, page = std::move(page)](Core& core) {
          if (page) core.lease->see_epoch(page->epoch);
          done(page);
        });
      });
}

void StorePort::watch(std::string prefix, location::HintCallback hint) {
  core_.seams.store.watch(std::move(prefix),
                          [link = core_.link, hint = std::move(hint)](std::string_view key) {
                            link->post([hint, key = std::string(key)](Core&) { hint(key); });
                          });
}

void StorePort::commit(location::Commit commit, location::CommitCallback done) {
  core_.metrics.store_commits.add();
  core_.seams.store.commit(std::move(commit), [link = core_.link, done = std::move(done)](
                                                  location::CommitResult result) {
    link->post([done, result = std::move(result)](Core& core) {
      using Outcome = location::CommitResult::Outcome;
      if (result.outcome == Outcome::Ok || result.outcome == Outcome::Conflict) {
        core.store->commits_.note(core, nullptr);
        core.lease->see_epoch(result.epoch);
      } else if (result.outcome == Outcome::Unavailable) {
        const Error away = Error::unavailable(result.message);
        core.store->commits_.note(core, &away);
      }
      if (result.outcome == Outcome::Malformed) {
        core.log(LogLevel::Error, "a commit to the Location Store is malformed: " + result.message);
      }
      if (result.outcome == Outcome::Conflict) core.lease->see_conflict(result.failed_key);
      done(result);
    });
  });
}

StrandTimer::StrandTimer(Core& core, std::function<void()> fired)
    : timers_(core.seams.timers),
      link_(core.link),
      shared_(std::make_shared<Shared>(Shared{std::move(fired)})) {}

StrandTimer::~StrandTimer() { cancel(); }

void StrandTimer::arm(Instant deadline) {
  cancel();
  shared_->arming = ++armings_;
  armed_.store(armings_, std::memory_order_release);
  timers_.arm(*this, deadline);
}

void StrandTimer::cancel() {
  timers_.cancel(*this);
  shared_->arming = 0;
}

void StrandTimer::on_timer(Instant) {
  link_->post([shared = shared_, arming = armed_.load(std::memory_order_acquire)](Core&) {
    if (shared->arming != arming) return;
    shared->arming = 0;
    shared->fired();
  });
}

}  // namespace spotmesh::objects

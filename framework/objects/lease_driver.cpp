#include "objects/lease_driver.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "location/lease_sweep.hpp"
#include "objects/core.hpp"
#include "objects/machine_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/reassertions.hpp"
#include "objects/router.hpp"

namespace spotmesh::objects {

class LeaseDriver::LeaseRun final : public MachineDriver<LeaseRun, location::lease::Event> {
 public:
  LeaseRun(Core& core, LeaseDriver& driver)
      : MachineDriver(core),
        driver_(driver),
        machine_(lease_config(core), *location::OwnerId::parse(core.identity.rid.text),
                 core.identity.rid, core.identity.lifecycle, core.seams.random) {}

  static location::LeaseConfig lease_config(const Core& core) {
    location::LeaseConfig config = core.config.lease;
    if (runtime::fault_strikes(core.seams.faults, "lease.without-margin")) {
      config.margin = std::chrono::milliseconds(1);
    }
    return config;
  }

  location::LeaseMachine& machine() { return machine_; }
  const location::LeaseMachine& machine() const { return machine_; }

  void perform(location::lease::Acquired&) {
    driver_.extend_admission();
    driver_.on_acquired();
  }
  void perform(location::lease::Extended&) { driver_.extend_admission(); }
  void perform(location::lease::EpochChanged&) {
    core_.router->forget_routes();
    driver_.events_.epoch_changed();
  }
  void perform(location::lease::Reasserted&) {
    core_.reassertions->begin();
    driver_.events_.reasserted();
  }
  void perform(location::lease::QuietTimeOver&) {
    core_.log(LogLevel::Info, "the store's new epoch is settled: objects are created again");
  }
  void perform(location::lease::Fenced& action) {
    driver_.on_end();
    core_.admission.fence();
    driver_.events_.fenced(std::move(action.reason));
  }
  void perform(location::lease::Released&) { driver_.events_.released(); }
  void perform(location::lease::AcquireFailed& action) {
    if (auto acquired = std::exchange(driver_.events_.acquired, nullptr)) {
      acquired(fail(std::move(action.error)));
    }
  }

 private:
  LeaseDriver& driver_;
  location::LeaseMachine machine_;
};

class LeaseDriver::WatchRun final : public MachineDriver<WatchRun, location::watch::Event> {
 public:
  WatchRun(Core& core, const location::LeaseView& lease)
      : MachineDriver(core),
        machine_(watch_config(core), lease, core.seams.random, core.seams.faults) {}

  static location::LeaseConfig watch_config(const Core& core) {
    location::LeaseConfig config = core.config.lease;
    if (runtime::fault_strikes(core.seams.faults, "fence.too-early")) {
      config.ttl = config.margin = config.renew_timeout;
    }
    if (runtime::fault_strikes(core.seams.faults, "fence.without-margin")) {
      config.margin = std::chrono::milliseconds(1);
    }
    return config;
  }

  location::BeatWatchMachine& machine() { return machine_; }

  void perform(location::watch::OwnerSilent& action) {
    core_.router->forget_owner(NodeRid{action.run.owner.text()});
    core_.emit("node.silent", action.run.owner.text());
  }
  void perform(location::watch::BadRecord& action) { core_.quarantine(action.error); }
  void perform(location::watch::OwnerFenced& action) { core_.directory->owner_over(action.owner); }

 private:
  location::BeatWatchMachine machine_;
};

class LeaseDriver::SweepRun final : public MachineDriver<SweepRun, location::sweep::Event> {
 public:
  SweepRun(Core& core, const location::LeaseView& lease)
      : MachineDriver(core), machine_(lease, core.seams.random) {}

  location::LeaseSweep& machine() { return machine_; }

 private:
  location::LeaseSweep machine_;
};

LeaseDriver::LeaseDriver(Core& core) : core_(core), lapse_(core, [this] { note_lapse(); }) {
  lease_ = std::make_shared<LeaseRun>(core, *this);
  watch_ = std::make_shared<WatchRun>(core, lease_->machine().view());
  sweep_ = std::make_shared<SweepRun>(core, lease_->machine().view());
  // Nothing mints before the lease is there, and then from a mint that knows its generation.
  mint_.emplace(LeaseGeneration{0});
  environment_.emplace(location::AuthorityEnvironment{.lease = lease_->machine().view(),
                                                      .owners = watch_->machine(),
                                                      .local = holdings_,
                                                      .mint = *mint_,
                                                      .random = core.seams.random,
                                                      .faults = core.seams.faults});
}

LeaseDriver::~LeaseDriver() = default;

void LeaseDriver::start(Events events) {
  events_ = std::move(events);
  is_started_ = true;
  lease_->feed(location::lease::Start{});
}

bool LeaseDriver::is_reasserting() const {
  return lease_->machine().state() == location::LeaseMachine::State::Reasserting;
}

void LeaseDriver::extend_admission() {
  if (core_.reassertions->is_pending()) return;
  core_.admission.extend(view().admission_deadline);
  note_renewal();
}

// A renewal whose answer came late may have extended admission to a moment that is past.
void LeaseDriver::note_renewal() {
  const Instant now = core_.now();
  if (!core_.admission.is_open(now)) return;
  lapse_.arm(core_.admission.deadline());
  if (!lapsed_since_) return;
  const auto seconds = std::chrono::duration<double>(now - *lapsed_since_).count();
  lapsed_since_.reset();
  core_.emit("lease.renewed", core_.identity.rid.text);
  core_.log(LogLevel::Info, "this node's lease is renewed: turns go on",
            {{"waited", fmt::format("{:.1f} s", seconds)}});
}

void LeaseDriver::note_lapse() {
  lapsed_since_ = core_.admission.deadline();
  core_.emit("lease.lapsed", core_.identity.rid.text);
  // The lease itself may have been renewed: that is held back until what lives here is known.
  core_.log(LogLevel::Warning,
            core_.reassertions->is_pending()
                ? "this node still tells a store that forgot what it has: turns wait until that is "
                  "done"
                : "this node's lease has run out: turns wait until it is renewed");
}

bool LeaseDriver::can_release() const {
  return is_started_ && lease_->machine().state() != location::LeaseMachine::State::Ended;
}

void LeaseDriver::release() {
  on_end();
  lease_->feed(location::lease::Release{});
}

void LeaseDriver::on_acquired() {
  *mint_ = location::GenerationMint(view().stamp->lease_generation);
  sweep_->feed(location::sweep::Start{});
  if (auto acquired = std::exchange(events_.acquired, nullptr)) acquired({});
}

void LeaseDriver::on_end() {
  lapse_.cancel();
  sweep_->feed(location::sweep::Stop{});
}

const location::LeaseView& LeaseDriver::view() const { return lease_->machine().view(); }

const location::AuthorityEnvironment& LeaseDriver::environment() const { return *environment_; }

Result<ObjectGeneration> LeaseDriver::mint() { return mint_->mint(); }

void LeaseDriver::watch(location::OwnerStamp owner) {
  watch_->feed(location::watch::Watch{std::move(owner)});
}

void LeaseDriver::see_epoch(const location::StoreEpoch& epoch) {
  if (view().is_held && epoch != view().epoch) {
    lease_->feed(location::lease::EpochSeen{epoch});
  }
}

void LeaseDriver::see_conflict(const std::string& failed_key) {
  if (failed_key == location::keys::lease(*location::OwnerId::parse(core_.identity.rid.text))) {
    lease_->feed(location::lease::Doubted{});
  }
}

}  // namespace spotmesh::objects

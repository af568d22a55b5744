#include "objects/node_stop.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/checkpoints.hpp"
#include "objects/creations.hpp"
#include "objects/destructions.hpp"
#include "objects/farewells.hpp"
#include "objects/joins.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/node_start.hpp"
#include "objects/peer_port.hpp"
#include "objects/publications.hpp"
#include "objects/registry.hpp"
#include "objects/requests.hpp"
#include "objects/router.hpp"
#include "objects/store_operations.hpp"
#include "objects/subscribers.hpp"
#include "objects/subscriptions.hpp"
#include "objects/vacancies.hpp"

namespace spotmesh::objects {
namespace {

// How often it is looked whether everything has ended.
constexpr Duration look_interval = std::chrono::milliseconds(10);
// For turns that learn at the deadline that what they wait for will not come.
constexpr Duration last_turns = std::chrono::milliseconds(200);
constexpr Duration removal_timeout = std::chrono::seconds(1);
constexpr std::size_t records_per_commit = 60;

bool is_idle(const runtime::Mailbox& mailbox) {
  const runtime::Mailbox::Backlog backlog = mailbox.backlog();
  return backlog.application == 0 && backlog.control == 0 && !backlog.is_running;
}

}  // namespace

ObjectsNode::Stopping::Stopping(Core& core, DescriptorPublisher& publisher,
                                const Starting* starting, Instant deadline, LeavingHook leaving,
                                std::function<void()> done)
    : core_(core),
      publisher_(publisher),
      starting_(starting),
      deadline_(deadline),
      ending_until_(deadline + last_turns),
      leaving_(std::move(leaving)),
      done_(std::move(done)),
      timer_(core, [this] { look(); }) {}

void ObjectsNode::Stopping::begin() {
  core_.set_draining();
  core_.emit("node.draining", core_.identity.rid.text);
  if (!core_.lease->view().is_held) return release();
  publisher_.publish(location::HostState::Draining, [](const Result<void>&) {});
  core_.creations->stop_all(core_.stopping_error());
  core_.joins->stop_all(core_.stopping_error());
  close_spots();
  look();
}

void ObjectsNode::Stopping::close_spots() {
  for (const auto& spot : core_.registry->spots()) {
    if (spot->is_entry_spot() || spot->state != CellState::Ready) continue;
    spot->state = CellState::Ending;
    closing_.push_back(spot);
    core_.destructions->run_closing(*spot, ClosingReason::Shutdown, deadline_,
                                    [this, spot] { std::erase(closing_, spot); });
  }
}

bool ObjectsNode::Stopping::is_quiet() const {
  // An Entry Spot that comes to be meanwhile is ended like any other.
  if (starting_ != nullptr && starting_->is_writing()) return false;
  // One that the node steps down from meanwhile is closed by nobody.
  const bool are_closing = std::ranges::any_of(
      closing_, [](const auto& spot) { return spot->state != CellState::Gone; });
  if (are_closing || core_.creations->under_way() > 0 || core_.joins->under_way() > 0 ||
      core_.farewells->under_way() > 0 || core_.destructions->under_way() > 0) {
    return false;
  }
  return std::ranges::all_of(core_.registry->actors(),
                             [](const auto& actor) { return is_idle(actor->mailbox()); }) &&
         std::ranges::all_of(core_.registry->spots(),
                             [](const auto& spot) { return is_idle(spot->mailbox()); });
}

void ObjectsNode::Stopping::look() {
  if (phase_ == Phase::Draining && (is_quiet() || core_.now() >= deadline_)) end_what_waits();
  if (phase_ == Phase::Ending && (is_quiet() || core_.now() >= ending_until_)) {
    return remove_records();
  }
  timer_.arm(core_.now() + look_interval);
}

void ObjectsNode::Stopping::end_what_waits() {
  phase_ = Phase::Ending;
  core_.set_stopped();
  core_.router->refuse_all(core_.stopping_error());
  core_.publications->refuse_all(core_.stopping_error());
  core_.peers->end_calls(core_.stopping_error());
  core_.requests->complete_all(core_.stopping_error());
}

void ObjectsNode::Stopping::remove_records() {
  phase_ = Phase::Removing;
  // From here on the ids are free: what still runs has had its time, and says nothing any more.
  core_.admission.fence();
  publisher_.stop();
  core_.checkpoints->stop();
  core_.operations->vacancies().stop();
  for (const auto& actor : core_.registry->actors()) {
    actor->timers().close();
    actor->mailbox().close(core_.stopping_error());
    records_.push_back({location::keys::actor(actor->id()), actor->authority->version()});
  }
  core_.subscribers->clear();
  core_.subscriptions->append_marks(records_);
  core_.publications->append_marks(records_);
  for (const auto& spot : core_.registry->spots()) {
    spot->timers().close();
    spot->mailbox().close(core_.stopping_error());
    records_.push_back({location::keys::spot(spot->id()), spot->authority->version});
  }
  // After what waits behind a turn that does not end has been refused.
  for (const auto& gate : core_.gates->all()) gate->abandon();
  remove_next();
}

// What cannot be deleted now is free all the same once the lease is given back. A record that is
// another one by now is none of this node's; the rest of its batch still is.
void ObjectsNode::Stopping::remove_next() {
  if (records_.empty() || !core_.lease->view().is_held) return leave();
  location::Commit commit = location::owned_commit(core_.lease->view());
  for (std::size_t i = 0; i < records_per_commit && !records_.empty(); ++i) {
    commit.writes.push_back({records_.back().key, std::nullopt});
    commit.conditions.push_back(records_.back());
    under_removal_.push_back(std::move(records_.back()));
    records_.pop_back();
  }
  core_.operations->settle("records of a node that stops", std::move(commit),
                           core_.now() + removal_timeout,
                           [this](const location::SettleOutcome& outcome) { on_removed(outcome); });
}

void ObjectsNode::Stopping::on_removed(const location::SettleOutcome& outcome) {
  using Kind = location::SettleOutcome::Kind;
  auto removed = std::exchange(under_removal_, {});
  if (outcome.kind == Kind::NotApplied) records_.clear();
  if (outcome.kind == Kind::Conflict) {
    std::erase_if(removed, [&](const auto& each) { return each.key == outcome.failed_key; });
    std::ranges::move(removed, std::back_inserter(records_));
  }
  remove_next();
}

void ObjectsNode::Stopping::leave() {
  // The lease was lost while records were deleted.
  if (phase_ == Phase::Done) return;
  if (!leaving_ || !core_.lease->view().is_held) return release();
  phase_ = Phase::Leaving;
  leaving_([this] {
    core_.strand.post([this] {
      if (phase_ == Phase::Leaving) release();
    });
  });
}

void ObjectsNode::Stopping::release() {
  phase_ = Phase::Releasing;
  timer_.cancel();
  core_.directory->stop();
  if (!core_.lease->can_release()) return on_released();
  core_.lease->release();
}

void ObjectsNode::Stopping::on_released() {
  if (phase_ == Phase::Done) return;
  phase_ = Phase::Done;
  timer_.cancel();
  core_.emit("node.stopped", core_.identity.rid.text);
  if (auto done = std::exchange(done_, nullptr)) done();
}

}  // namespace spotmesh::objects

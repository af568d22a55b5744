#include "objects/spot_cell.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/turn_scope.hpp"

namespace spotmesh::objects {

Logger SpotCell::OwnCaller::make_logger() const {
  return {core().seams.log, "spot", {{"spot", cell_.id_.text()}, {"type", cell_.type_.name}}};
}

SpotCell::SpotCell(Core& core, const MeshTypes& mesh, const SpotType& type, SpotId id,
                   ObjectGeneration generation, location::ObjectKind kind)
    : core_(core),
      mesh_(mesh),
      type_(type),
      id_(std::move(id)),
      generation_(generation),
      kind_(kind),
      gate_(core.new_gate()),
      gates_(core.gates),
      mailbox_(*this, *gate_, core.config.mailbox, runtime::OnYield::LeaveMailbox),
      claims_(core, *this, mailbox_),
      caller_(*this),
      timers_(core, mailbox_, type.handlers, nullptr, this),
      context_(*this, caller_, timers_) {
  gates_->add(*gate_);
}

SpotCell::~SpotCell() { gates_->remove(*gate_); }

SpotRef SpotCell::ref() const { return {id_, generation_, mesh_.name, core_.identity.rid}; }

std::string SpotCell::name() const {
  return fmt::format("{} '{}'", is_entry_spot() ? "Entry Spot" : "Spot", id_.text());
}

Result<void> SpotCell::adopt(std::unique_ptr<Spot> product) {
  if (product == nullptr) {
    return fail(Error::internal_failure(fmt::format("the factory of {} returned nothing", name())));
  }
  if (&product->context() != &context_) {
    return fail(Error::internal_failure(fmt::format(
        "the factory built {} with another context than the one it was given", name())));
  }
  object_ = std::move(product);
  return {};
}

void SpotCell::add_member(runtime::Ref<ActorCell> actor) { members_.push_back(std::move(actor)); }

void SpotCell::remove_member(const ActorCell& actor) {
  std::erase_if(members_, [&](const auto& member) { return member.get() == &actor; });
}

std::vector<Actor*> SpotCell::usable_members() const {
  const ObjectScope* scope = ObjectScope::current();
  std::vector<Actor*> usable;
  for (const auto& member : members_) {
    const bool is_given = scope != nullptr && scope->actor() == member.get();
    if (is_given || !member->is_leaving.load(std::memory_order_acquire)) {
      usable.push_back(member->object());
    }
  }
  return usable;
}

void SpotCell::stand_still(std::function<void()> then) {
  claims_.claim([this, then = std::move(then)]() mutable {
    mailbox_.hold();
    claims_.release();
    timers_.pause(std::move(then));
  });
}

void SpotCell::go_on() {
  timers_.resume();
  mailbox_.release_hold();
}

void SpotCell::drop_claims() {
  claims_.drop();
  timers_.drop_claims();
}

bool SpotCell::is_own_turn() const {
  const runtime::Turn* turn = runtime::Turn::current();
  return turn != nullptr && &turn->gate() == gate_.get();
}

}  // namespace spotmesh::objects

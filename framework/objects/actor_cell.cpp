#include "objects/actor_cell.hpp"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {

Logger ActorCell::OwnCaller::make_logger() const {
  return {
      core().seams.log, "actor", {{"actor", cell_.id_.text()}, {"type", cell_.type_.name.text()}}};
}

ActorCell::ActorCell(Core& core, const MeshTypes& mesh, const ActorType& type, ActorId id,
                     ObjectGeneration generation)
    : core_(core),
      mesh_(mesh),
      type_(type),
      id_(std::move(id)),
      generation_(generation),
      own_gate_(core.new_gate()),
      gates_(core.gates),
      mailbox_(*this, *own_gate_, core.config.mailbox),
      claims_(core, *this, mailbox_),
      caller_(*this),
      timers_(core, mailbox_, type.handlers, this, nullptr),
      context_(*this, caller_, timers_) {
  gates_->add(*own_gate_);
}

ActorCell::~ActorCell() { gates_->remove(*own_gate_); }

ActorRef ActorCell::ref() const { return {id_, generation_, mesh_.name, core_.identity.rid}; }

std::string ActorCell::name() const { return fmt::format("Actor '{}'", id_.text()); }

Result<void> ActorCell::adopt(std::unique_ptr<Actor> product, const SpotCell& entry_spot) {
  if (product == nullptr) {
    return fail(Error::internal_failure(
        fmt::format("the factory of Actor type '{}' returned nothing", type_.name.text())));
  }
  if (&product->context() != &context_) {
    return fail(Error::internal_failure(fmt::format(
        "the factory of Actor type '{}' built {} with another context than the one it was given",
        type_.name.text(), name())));
  }
  if (!SpotCallbacks::accepts_class_of(*entry_spot.object(), *product)) {
    return fail(Error::internal_failure(
        fmt::format("the Entry Spot of mesh '{}' has no members of the class of Actor type '{}'; "
                    "name it, or a base of it, in EntrySpot<A>",
                    mesh_.name, type_.name.text())));
  }
  object_ = std::move(product);
  return {};
}

runtime::Ref<SpotCell> ActorCell::spot() const {
  std::lock_guard lock(mutex_);
  return spot_;
}

void ActorCell::set_spot(runtime::Ref<SpotCell> spot) {
  std::lock_guard lock(mutex_);
  std::swap(spot_, spot);
}

std::optional<BindingIdentity> ActorCell::binding() const {
  std::lock_guard lock(mutex_);
  if (binding_ == nullptr) return {};
  return *binding_;
}

std::optional<BindingIdentity> ActorCell::set_binding(
    const std::optional<BindingIdentity>& binding) {
  auto before = binding ? std::make_unique<const BindingIdentity>(*binding) : nullptr;
  {
    std::lock_guard lock(mutex_);
    binding_.swap(before);
  }
  if (before == nullptr) return {};
  return *before;
}

bool ActorCell::clear_binding(const BindingIdentity& binding) {
  std::unique_ptr<const BindingIdentity> before;  // ends outside the lock
  std::lock_guard lock(mutex_);
  if (binding_ == nullptr || *binding_ != binding) return false;
  before = std::move(binding_);
  return true;
}

bool ActorCell::is_bound_to(const BindingIdentity& binding) const {
  std::lock_guard lock(mutex_);
  return binding_ != nullptr && *binding_ == binding;
}

}  // namespace spotmesh::objects

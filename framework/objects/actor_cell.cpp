#include "objects/actor_cell.hpp"

#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {
namespace {

Logger logger_of(Core& core, const ActorId& id, const ActorType& type) {
  return Logger(core.seams.log, "actor", {{"actor", id.text()}, {"type", type.name.text()}});
}

}  // namespace

ActorCell::ActorCell(Core& core, const MeshTypes& mesh, const ActorType& type, ActorId id,
                     ObjectGeneration generation)
    : core_(core),
      mesh_(mesh),
      type_(type),
      id_(std::move(id)),
      generation_(generation),
      own_gate_(core.new_gate()),
      gates_(core.gates),
      gate_number_(gates_->add(*own_gate_)),
      mailbox_(*this, *own_gate_, core.config.mailbox),
      claims_(core, *this, mailbox_),
      caller_(core, mesh.name, logger_of(core, id_, type)),
      timers_(core, mailbox_, type.handlers, this, nullptr),
      context_(*this, caller_, timers_) {}

ActorCell::~ActorCell() { gates_->remove(gate_number_); }

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
  return binding_;
}

std::optional<BindingIdentity> ActorCell::set_binding(std::optional<BindingIdentity> binding) {
  std::lock_guard lock(mutex_);
  return std::exchange(binding_, std::move(binding));
}

bool ActorCell::clear_binding(const BindingIdentity& binding) {
  std::lock_guard lock(mutex_);
  if (binding_ != binding) return false;
  binding_.reset();
  return true;
}

bool ActorCell::is_bound_to(const BindingIdentity& binding) const {
  std::lock_guard lock(mutex_);
  return binding_ == binding;
}

}  // namespace spotmesh::objects

#include "stream/bound_actors.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::stream {

Result<void> BoundActors::begin(const ActorRef& actor, const objects::BindingIdentity& identity) {
  std::lock_guard lock(mutex_);
  if (has_ended_) {
    return fail(Error::unavailable(
        fmt::format("Actor '{}' cannot be bound: the session has ended", actor.actor_id.text())));
  }
  if (entries_.size() >= most_) {
    return fail(Error::capacity_exceeded(
        fmt::format("Actor '{}' cannot be bound: a session binds at most {} Actors",
                    actor.actor_id.text(), most_)));
  }
  entries_.push_back({.binding = std::make_shared<const Binding>(actor, identity)});
  is_unused_.store(false, std::memory_order_relaxed);
  return {};
}

bool BoundActors::finish(std::uint64_t generation, bool is_bound) {
  std::lock_guard lock(mutex_);
  if (has_ended_) return !is_bound;
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& each) { return each.binding->identity.generation == generation; });
  // Taken over or gone already, while the answer was on its way.
  if (found == entries_.end()) return true;
  if (!is_bound) {
    entries_.erase(found);
    return true;
  }
  found->is_pending = false;
  // An earlier incarnation under the same id is dead.
  const BindingHandle bound = found->binding;
  std::erase_if(entries_, [&](const Entry& each) {
    return each.binding->actor.actor_id == bound->actor.actor_id && !each.is_pending &&
           each.binding->identity.generation < generation;
  });
  return true;
}

bool BoundActors::has(const ActorRef& actor) const {
  const BindingHandle bound = find(actor.actor_id);
  return bound != nullptr && bound->actor.object_generation == actor.object_generation;
}

bool BoundActors::has(std::uint64_t generation) const {
  std::lock_guard lock(mutex_);
  return !has_ended_ && std::ranges::any_of(entries_, [&](const Entry& each) {
    return each.binding->identity.generation == generation;
  });
}

BindingHandle BoundActors::find(const ActorId& actor) const {
  std::lock_guard lock(mutex_);
  for (const Entry& each : entries_) {
    if (!each.is_pending && each.binding->actor.actor_id == actor) return each.binding;
  }
  return nullptr;
}

BindingHandle BoundActors::only_one() const {
  std::lock_guard lock(mutex_);
  const Entry* only = nullptr;
  for (const Entry& each : entries_) {
    if (each.is_pending) continue;
    if (only != nullptr) return nullptr;
    only = &each;
  }
  return only == nullptr ? nullptr : only->binding;
}

std::size_t BoundActors::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const Entry& each) { return !each.is_pending; }));
}

BindingHandle BoundActors::remove(std::uint64_t generation) {
  std::lock_guard lock(mutex_);
  if (has_ended_) return nullptr;
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& each) { return each.binding->identity.generation == generation; });
  if (found == entries_.end()) return nullptr;
  BindingHandle removed = std::move(found->binding);
  entries_.erase(found);
  return removed;
}

std::vector<ActorRef> BoundActors::actors() const {
  std::lock_guard lock(mutex_);
  std::vector<ActorRef> actors;
  for (const Entry& each : entries_) {
    if (!each.is_pending) actors.push_back(each.binding->actor);
  }
  return actors;
}

std::vector<BindingHandle> BoundActors::end() {
  std::lock_guard lock(mutex_);
  std::vector<BindingHandle> ending;
  if (has_ended_) return ending;
  has_ended_ = true;
  for (const Entry& each : entries_) {
    if (!each.is_pending) ending.push_back(each.binding);
  }
  return ending;
}

}  // namespace spotmesh::stream

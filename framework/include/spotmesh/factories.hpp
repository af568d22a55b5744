// Factories: the settings of one Actor or Spot type.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <spotmesh/actor.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/relocation.hpp>
#include <spotmesh/spot.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh {

// Settings of one Actor type. Exactly one relocation policy must be chosen; none or two stop the
// start with ConfigurationError.
template <std::derived_from<Actor> A>
class ActorFactory {
 public:
  explicit ActorFactory(registration::ActorType& type) : type_(type) {}

  // The Actor never leaves the node on which it was created.
  ActorFactory& disable_relocation() { return choose(registration::RelocationPolicy::Disabled); }
  // A move makes a new object; queued messages and timers move, the object's state does not.
  ActorFactory& recreate_on_relocation() {
    return choose(registration::RelocationPolicy::Recreate);
  }
  // A move carries the state that `Adapter` captures: Bytes capture(A&) and
  // void restore(A&, const Bytes&), or Tasks of them.
  template <typename Adapter>
  ActorFactory& preserve_state_with() {
    static_assert(StateAdapterFor<Adapter, A>,
                  "the adapter needs `Bytes capture(A&)` and `void restore(A&, const Bytes&)` for "
                  "this very Actor class (or Tasks of them), and a default constructor");
    type_.state_adapter = std::make_shared<detail::TypedStateAdapter<Adapter, A>>();
    return choose(registration::RelocationPolicy::PreserveState);
  }
  // Keeps the Actor's state safe from the loss of its node: about every `interval`, and after turns
  // that ask for it (ActorContext::checkpoint_after_turn), `Adapter` captures it between two turns
  // and it is written to the Location Store, if it has changed. Whoever creates the Actor anew
  // after its owner was lost gets the last state back: restore() runs after configure() and before
  // on_create_actor, in a new incarnation (a new ObjectGeneration, in an Entry Spot). What happened
  // after the last checkpoint is lost. The state stays while nobody creates the Actor, also over a
  // stop of the server; destroying the Actor ends it. At most limits::checkpoint_bytes; a larger
  // one, or a capture() that throws, is logged and not written, and the one before stays. A
  // restore() that throws fails the creation with InternalFailure.
  //
  // `interval` is at least a second (limits::min_checkpoint_interval). It goes together with any
  // relocation policy, also with another adapter. Twice, or a shorter interval: ConfigurationError.
  template <typename Adapter>
  ActorFactory& checkpointed_by(Duration interval = limits::checkpoint_interval) {
    static_assert(StateAdapterFor<Adapter, A>,
                  "the adapter needs `Bytes capture(A&)` and `void restore(A&, const Bytes&)` for "
                  "this very Actor class (or Tasks of them), and a default constructor");
    require_checkpoints(interval);
    type_.checkpoint_adapter = std::make_shared<detail::TypedStateAdapter<Adapter, A>>();
    type_.checkpoint_interval = interval;
    return *this;
  }
  // Makes the Actor instead of `A(ActorContext&)`: `f(ActorContext&)` returns unique_ptr<A> or a
  // Task of one. It gets the context and nothing else, and must build the Actor with it. A throw or
  // a null pointer fails the creation.
  template <typename F>
  ActorFactory& create_with(F f) {
    using Product = std::invoke_result_t<F&, ActorContext&>;
    if constexpr (std::is_convertible_v<Product, std::unique_ptr<A>>) {
      type_.factory = [f](ActorContext& context) -> Task<std::unique_ptr<Actor>> {
        return ready(f(context));
      };
    } else {
      static_assert(std::is_same_v<Product, Task<std::unique_ptr<A>>>,
                    "create_with takes f(ActorContext&) that returns std::unique_ptr<A> or "
                    "Task<std::unique_ptr<A>> of the registered class");
      type_.factory = [f](ActorContext& context) -> Task<std::unique_ptr<Actor>> {
        return widened(f(context));
      };
    }
    return *this;
  }

 private:
  static Task<std::unique_ptr<Actor>> ready(std::unique_ptr<A> actor) { co_return actor; }
  static Task<std::unique_ptr<Actor>> widened(Task<std::unique_ptr<A>> pending) {
    co_return co_await std::move(pending);
  }

  void require_checkpoints(Duration interval) const {
    if (type_.checkpoint_adapter != nullptr) {
      throw ConfigurationError("Actor type '" + type_.stable_type + "' at " +
                               registration::place_of(type_.where) +
                               " chooses checkpointed_by twice; choose one");
    }
    if (interval < limits::min_checkpoint_interval) {
      throw ConfigurationError("Actor type '" + type_.stable_type + "' at " +
                               registration::place_of(type_.where) +
                               " is checkpointed more often than once a second");
    }
  }
  ActorFactory& choose(registration::RelocationPolicy policy) {
    if (type_.relocation.has_value()) {
      throw ConfigurationError("Actor type '" + type_.stable_type + "' at " +
                               registration::place_of(type_.where) +
                               " chooses a relocation policy twice; choose one");
    }
    type_.relocation = policy;
    return *this;
  }

  registration::ActorType& type_;
};

// Settings of the Entry Spot or of one User Spot type.
template <std::derived_from<Spot> S>
class SpotFactory {
 public:
  explicit SpotFactory(registration::SpotType& type) : type_(type) {}

  // Spot, members, timers and callbacks share one gate. The default.
  SpotFactory& spot_wide() {
    static_assert(S::shares_gate_with_members,
                  "a SpotWide Spot derives from UserSpot<A>; this class has said otherwise");
    return *this;
  }
  // Members and timers have gates of their own. Said by the base class; here for who reads the
  // registration.
  SpotFactory& per_actor() {
    static_assert(S::has_gate_per_timer, "a PerActor Spot derives from PerActorSpot<A>");
    return *this;
  }
  // Not for Spots: choose disable_relocation(). A PerActorSpot in particular has no state that
  // could move with its members, because they move one by one.
  template <typename Adapter>
  SpotFactory& preserve_state_with() = delete;
  // The Spot never leaves the node on which it was created. Entry Spots never move anyhow.
  SpotFactory& disable_relocation() {
    if (type_.relocation.has_value()) {
      throw ConfigurationError("Spot type '" + type_.stable_type + "' at " +
                               registration::place_of(type_.where) +
                               " chooses a relocation policy twice; choose one");
    }
    type_.relocation = registration::RelocationPolicy::Disabled;
    return *this;
  }
  // At most so many living and pending Spots of this type on a node; 0: no limit.
  SpotFactory& limit(std::uint32_t most) {
    type_.limit = most;
    return *this;
  }
  // Makes the Spot instead of `S(SpotContext&)`: `f(SpotContext&)` returns unique_ptr<S>. Called
  // once per Spot; a throw or a null pointer fails the creation.
  template <typename F>
  SpotFactory& create_with(F f) {
    static_assert(std::is_invocable_r_v<std::unique_ptr<S>, F&, SpotContext&>,
                  "create_with takes f(SpotContext&) that returns std::unique_ptr<S> of the "
                  "registered class");
    type_.factory = [f](SpotContext& context) -> std::unique_ptr<Spot> { return f(context); };
    return *this;
  }

 private:
  registration::SpotType& type_;
};

}  // namespace spotmesh

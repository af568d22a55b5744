// ObjectServer: the Actor and Spot types that a node hosts in one mesh.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <spotmesh/actor.hpp>
#include <spotmesh/actor_handlers.hpp>
#include <spotmesh/factories.hpp>
#include <spotmesh/handlers.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/spot.hpp>

namespace spotmesh {

// Made by Mesh::object_server(). Everything here happens before the start; mistakes throw
// ConfigurationError then, and name the places in the code.
class ObjectServer {
 public:
  explicit ObjectServer(registration::ObjectServerModel& model) : model_(model) {}

  // The one Entry Spot class of this mesh; a server with Actor types needs it.
  template <std::derived_from<Spot> S>
  ObjectServer& entry_spot(std::source_location where = std::source_location::current()) {
    return entry_spot<S>([](SpotFactory<S>&) {}, where);
  }
  template <std::derived_from<Spot> S, std::invocable<SpotFactory<S>&> Configure>
  ObjectServer& entry_spot(Configure configure,
                           std::source_location where = std::source_location::current()) {
    static_assert(std::derived_from<S, EntrySpot<typename S::ActorType>>,
                  "an Entry Spot derives from EntrySpot<A>");
    registration::SpotType type = new_spot_type<S>({}, where);
    SpotFactory<S> factory(type);
    configure(factory);
    set_entry_spot(std::move(type));
    return *this;
  }

  // An Actor class under its stable type: the name in create calls and store records.
  // `configure(factory)` chooses the relocation policy.
  template <std::derived_from<Actor> A, std::invocable<ActorFactory<A>&> Configure>
  ObjectServer& actor(std::string_view stable_type, Configure configure,
                      std::source_location where = std::source_location::current()) {
    registration::ActorType type{.stable_type = std::string(stable_type),
                                 .actor_class = registration::class_tag<A>(),
                                 .where = where};
    ActorFactory<A> factory(type);
    if constexpr (std::constructible_from<A, ActorContext&>) {
      factory.create_with([](ActorContext& context) { return std::make_unique<A>(context); });
    }
    configure(factory);
    if constexpr (requires(ActorHandlers<A>& on) { A::handlers(on); }) {
      ActorHandlers<A> on(type.handlers);
      A::handlers(on);
    }
    add_actor_type(std::move(type));
    return *this;
  }
  template <std::derived_from<Actor> A>
  ObjectServer& actor(std::string_view) {
    static_assert(detail::always_false<A>,
                  "an Actor type chooses its relocation policy: actor<A>(type, [](auto& f) { "
                  "f.disable_relocation(); }), or recreate_on_relocation, or "
                  "preserve_state_with<Adapter>");
    return *this;
  }

  // A User Spot class under its stable type.
  template <std::derived_from<Spot> S, std::invocable<SpotFactory<S>&> Configure>
  ObjectServer& user_spot(std::string_view stable_type, Configure configure,
                          std::source_location where = std::source_location::current()) {
    static_assert(std::derived_from<S, UserSpot<typename S::ActorType>>,
                  "a User Spot derives from UserSpot<A>, or from PerActorSpot<A>");
    registration::SpotType type = new_spot_type<S>(stable_type, where);
    SpotFactory<S> factory(type);
    configure(factory);
    add_spot_type(std::move(type));
    return *this;
  }
  template <std::derived_from<Spot> S>
  ObjectServer& user_spot(std::string_view) {
    static_assert(detail::always_false<S>,
                  "a User Spot type chooses its relocation policy: user_spot<S>(type, [](auto& f) "
                  "{ f.disable_relocation(); })");
    return *this;
  }

  // This node's share of new objects, 0..10000, default 100; 0 takes none.
  ObjectServer& placement_weight(std::uint32_t weight);
  // At most so many living and pending Actors (Spots) on this node in this mesh; 0: no limit.
  ObjectServer& actor_limit(std::uint32_t most);
  ObjectServer& spot_limit(std::uint32_t most);
  // Creations under way at once, at least 1; default 128.
  ObjectServer& pending_limit(std::uint32_t most);

 private:
  template <typename S>
  static registration::SpotType new_spot_type(std::string_view stable_type,
                                              std::source_location where) {
    registration::SpotType type{.stable_type = std::string(stable_type),
                                .actor_class = registration::class_tag<typename S::ActorType>(),
                                .shares_gate_with_members = S::shares_gate_with_members,
                                .has_gate_per_timer = S::has_gate_per_timer,
                                .where = where};
    if constexpr (std::constructible_from<S, SpotContext&>) {
      type.factory = [](SpotContext& context) -> std::unique_ptr<Spot> {
        return std::make_unique<S>(context);
      };
    }
    if constexpr (requires(Handlers<S>& on) { S::handlers(on); }) {
      Handlers<S> on(type.handlers);
      S::handlers(on);
    }
    return type;
  }

  void set_entry_spot(registration::SpotType type);
  void add_actor_type(registration::ActorType type);
  void add_spot_type(registration::SpotType type);

  registration::ObjectServerModel& model_;
};

}  // namespace spotmesh

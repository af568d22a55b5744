// Handler registration: what a class's static handlers() function says. Here for Spot classes;
// actor_handlers.hpp and session_handlers.hpp are alike.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <spotmesh/invoke.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/signatures.hpp>

namespace spotmesh {

// Common to all three: the packet type comes from the handler's signature, and an optional last
// parameter `const MessageContext&` tells about the message. A request handler returns Reply,
// Result<Reply>, Task<Reply> or Task<Result<Reply>>, a send or timer handler void, Result<void>,
// Task<void> or Task<Result<void>>. An Error returned for a request is the requester's error; of a
// send or a timer it is logged and counted. A send and a request handler for one packet may
// coexist; the same registration twice throws ConfigurationError and names both places.

// The handlers of a Spot class: for the Spot itself `(const Packet&)`, and for its members
// `(A&, const Packet&)`. A member's message is the member's turn; the Spot's handler is chosen
// before one of the Actor class's own. In an Entry Spot and a PerActorSpot, whose members run at
// the same time, member handlers are const, and so are the timers of a PerActorSpot.
template <typename S>
class Handlers {
 public:
  explicit Handlers(registration::HandlerList& list) : list_(list) {}

  template <typename Member>
  void send(Member member, std::source_location where = std::source_location::current()) {
    add<registration::MessageKind::Send>(member, where);
  }
  template <typename Member>
  void request(Member member, std::source_location where = std::source_location::current()) {
    add<registration::MessageKind::Request>(member, where);
  }

  // `(const Packet&)` of the Spot itself gets what is published about this topic of the channel in
  // the Spot's mesh: on every node, once in each Spot of this class from when it can be found until
  // it has ended, as a turn of its own. Several packets of one topic have a handler each; one
  // without is logged and counted. Returns what a send handler returns. Channel and topic: UTF-8 of
  // 1..255 bytes.
  template <typename Member>
  void subscribe(std::string_view channel, std::string_view topic, Member member,
                 std::source_location where = std::source_location::current()) {
    using Split =
        detail::WithoutMessageContext<typename detail::MemberFunction<Member>::Parameters>;
    static_assert(std::tuple_size_v<typename Split::type> == 1,
                  "a subscription is the Spot's own: its handler takes (const Packet&), and after "
                  "that optionally const MessageContext&");
    detail::check_return<registration::MessageKind::Publication,
                         typename detail::MemberFunction<Member>::Return>();
    if constexpr (std::tuple_size_v<typename Split::type> == 1) {
      add_for_spot<registration::MessageKind::Publication, Split::had_context>(
          member, where, registration::Topic{std::string(channel), std::string(topic)});
    }
  }

  // A timer that context().timers() starts and cancels by this key.
  template <typename Member>
  void timer(std::string_view key, Member member,
             OverrunPolicy overrun = OverrunPolicy::skip_late_ticks(),
             std::source_location where = std::source_location::current()) {
    add_timer(key, std::nullopt, member, overrun, where);
  }
  // A periodic timer that starts with the Spot.
  template <typename Member>
  void timer(std::string_view key, Duration period, Member member,
             OverrunPolicy overrun = OverrunPolicy::skip_late_ticks(),
             std::source_location where = std::source_location::current()) {
    add_timer(key, period, member, overrun, where);
  }

 private:
  template <registration::MessageKind Kind, typename Member>
  void add(Member member, std::source_location where) {
    using Function = detail::MemberFunction<Member>;
    using Split = detail::WithoutMessageContext<typename Function::Parameters>;
    using Parameters = typename Split::type;
    static_assert(std::derived_from<S, typename Function::Class>,
                  "this handler is a member of another class than the Spot that registers it");
    detail::check_return<Kind, typename Function::Return>();
    static_assert(std::tuple_size_v<Parameters> == 1 || std::tuple_size_v<Parameters> == 2,
                  "a Spot's handler takes (const Packet&) or (Actor&, const Packet&), and after "
                  "that optionally const MessageContext&");
    if constexpr (std::tuple_size_v<Parameters> == 1) {
      add_for_spot<Kind, Split::had_context>(member, where);
    } else if constexpr (std::tuple_size_v<Parameters> == 2) {
      add_for_member<Kind, Split::had_context>(member, where);
    }
  }

  template <registration::MessageKind Kind, bool TakesContext, typename Member>
  void add_for_spot(Member member, std::source_location where,
                    std::optional<registration::Topic> topic = {}) {
    using Function = detail::MemberFunction<Member>;
    using Split = detail::WithoutMessageContext<typename Function::Parameters>;
    static_assert(std::derived_from<S, typename Function::Class>,
                  "this handler is a member of another class than the Spot that registers it");
    using P = std::remove_cvref_t<std::tuple_element_t<0, typename Split::type>>;
    static_assert(Packet<P>, "a handler takes a packet of a schema given to spotmesh_add_packets");
    auto bound = [member](registration::Invocation& invocation, const P& packet) {
      return detail::call_handler<TakesContext>(static_cast<S&>(*invocation.spot), member,
                                                invocation, packet);
    };
    list_.add(registration::Handler{.receiver = registration::Receiver::Spot,
                                    .kind = Kind,
                                    .packet = &PacketTraits<P>::descriptor(),
                                    .topic = std::move(topic),
                                    .invoke = detail::make_invoke<P>(bound),
                                    .where = where});
  }

  template <registration::MessageKind Kind, bool TakesContext, typename Member>
  void add_for_member(Member member, std::source_location where) {
    using Function = detail::MemberFunction<Member>;
    using Split = detail::WithoutMessageContext<typename Function::Parameters>;
    using ActorParameter = std::tuple_element_t<0, typename Split::type>;
    using A = std::remove_cvref_t<ActorParameter>;
    using P = std::remove_cvref_t<std::tuple_element_t<1, typename Split::type>>;
    static_assert(std::is_same_v<ActorParameter, A&> && std::derived_from<A, Actor>,
                  "the first parameter of a member handler is an Actor class by reference");
    static_assert(std::derived_from<A, typename S::ActorType>,
                  "this Spot has no members of that Actor class; name it, or a base of it, in "
                  "EntrySpot<A> or UserSpot<A>");
    static_assert(Packet<P>, "a handler takes a packet of a schema given to spotmesh_add_packets");
    static_assert(S::shares_gate_with_members || Function::is_const,
                  "members of an Entry Spot or PerActorSpot run at the same time as the Spot: make "
                  "this handler const, and send the Spot a message to change its state");
    auto bound = [member](registration::Invocation& invocation, const P& packet) {
      auto& spot = static_cast<S&>(*invocation.spot);
      auto& actor = static_cast<A&>(*invocation.actor);
      return detail::call_handler<TakesContext>(spot, member, invocation, actor, packet);
    };
    list_.add(registration::Handler{
        .receiver = registration::Receiver::Actor,
        .kind = Kind,
        .packet = &PacketTraits<P>::descriptor(),
        .actor_class = registration::class_tag<A>(),
        .takes_class_of =
            [](const Actor& actor) { return dynamic_cast<const A*>(&actor) != nullptr; },
        .invoke = detail::make_invoke<P>(bound),
        .where = where});
  }

  template <typename Member>
  void add_timer(std::string_view key, std::optional<Duration> period, Member member,
                 OverrunPolicy overrun, std::source_location where) {
    static_assert(
        !S::has_gate_per_timer || detail::MemberFunction<Member>::is_const,
        "the timers of a PerActorSpot run at the same time as the Spot: make this handler "
        "const, and send the Spot a message to change its state");
    auto bound = [member](registration::TimerInvocation& invocation) {
      return detail::call_timer(static_cast<S&>(*invocation.spot), member, invocation.tick);
    };
    list_.add(registration::Timer{.key = std::string(key),
                                  .period = period,
                                  .overrun = overrun,
                                  .invoke = detail::make_timer_invoke(bound),
                                  .where = where});
  }

  registration::HandlerList& list_;
};

}  // namespace spotmesh

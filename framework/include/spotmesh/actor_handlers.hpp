// ActorHandlers: what an Actor class registers.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <spotmesh/invoke.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/signatures.hpp>

namespace spotmesh {

// The handlers of an Actor class, used wherever its Spot has none for the packet.
template <typename A>
class ActorHandlers {
 public:
  explicit ActorHandlers(registration::HandlerList& list) : list_(list) {}

  template <typename Member>
  void send(Member member, std::source_location where = std::source_location::current()) {
    add<registration::MessageKind::Send>(member, where);
  }
  template <typename Member>
  void request(Member member, std::source_location where = std::source_location::current()) {
    add<registration::MessageKind::Request>(member, where);
  }
  template <typename Member>
  void timer(std::string_view key, Member member,
             OverrunPolicy overrun = OverrunPolicy::skip_late_ticks(),
             std::source_location where = std::source_location::current()) {
    add_timer(key, std::nullopt, member, overrun, where);
  }
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
    static_assert(std::derived_from<A, typename Function::Class>,
                  "this handler is a member of another class than the Actor that registers it");
    static_assert(std::tuple_size_v<typename Split::type> == 1,
                  "an Actor's handler takes (const Packet&), and after that optionally "
                  "const MessageContext&");
    using P = std::remove_cvref_t<std::tuple_element_t<0, typename Split::type>>;
    static_assert(Packet<P>, "a handler takes a packet of a schema given to spotmesh_add_packets");
    detail::check_return<Kind, typename Function::Return>();
    auto bound = [member](registration::Invocation& invocation, const P& packet) {
      return detail::call_handler<Split::had_context>(static_cast<A&>(*invocation.actor), member,
                                                      invocation, packet);
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
    auto bound = [member](registration::TimerInvocation& invocation) {
      return detail::call_timer(static_cast<A&>(*invocation.actor), member, invocation.tick);
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

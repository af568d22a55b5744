// SessionHandlers: what a Session class registers.
#pragma once

#include <concepts>
#include <source_location>
#include <tuple>
#include <type_traits>

#include <spotmesh/invoke.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/signatures.hpp>

namespace spotmesh {

// The handlers of a Session class: packets of its client.
template <typename S>
class SessionHandlers {
 public:
  explicit SessionHandlers(registration::HandlerList& list) : list_(list) {}

  template <typename Member>
  void send(Member member, std::source_location where = std::source_location::current()) {
    add<registration::MessageKind::Send>(member, where);
  }
  template <typename Member>
  void request(Member member, std::source_location where = std::source_location::current()) {
    add<registration::MessageKind::Request>(member, where);
  }

 private:
  template <registration::MessageKind Kind, typename Member>
  void add(Member member, std::source_location where) {
    using Function = detail::MemberFunction<Member>;
    using Split = detail::WithoutMessageContext<typename Function::Parameters>;
    static_assert(std::derived_from<S, typename Function::Class>,
                  "this handler is a member of another class than the Session that registers it");
    static_assert(std::tuple_size_v<typename Split::type> == 1,
                  "a Session's handler takes (const Packet&), and after that optionally "
                  "const MessageContext&");
    using P = std::remove_cvref_t<std::tuple_element_t<0, typename Split::type>>;
    static_assert(Packet<P>, "a handler takes a packet of a schema given to spotmesh_add_packets");
    detail::check_return<Kind, typename Function::Return>();
    auto bound = [member](registration::Invocation& invocation, const P& packet) {
      return detail::call_handler<Split::had_context>(static_cast<S&>(*invocation.session), member,
                                                      invocation, packet);
    };
    list_.add(registration::Handler{.receiver = registration::Receiver::Session,
                                    .kind = Kind,
                                    .packet = &PacketTraits<P>::descriptor(),
                                    .invoke = detail::make_invoke<P>(bound),
                                    .where = where});
  }

  registration::HandlerList& list_;
};

}  // namespace spotmesh

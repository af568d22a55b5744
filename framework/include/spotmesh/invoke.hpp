// From a typed handler to registration::Invoke.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <spotmesh/registration.hpp>
#include <spotmesh/signatures.hpp>

namespace spotmesh::detail {

using registration::Invocation;

template <registration::MessageKind Kind, typename R>
constexpr void check_return() {
  using Value = typename Returned<R>::Value;
  if constexpr (Kind == registration::MessageKind::Request) {
    static_assert(
        Packet<Value>,
        "a request handler returns its reply packet: Reply, Result<Reply>, Task<Reply> or "
        "Task<Result<Reply>>");
  } else {
    static_assert(std::is_void_v<Value>,
                  "a send handler returns nothing: void, Result<void>, Task<void> or "
                  "Task<Result<void>>; register one with a reply by on.request");
  }
}

// Puts what a handler returned (awaited already) into the invocation.
template <typename Outcome>
void settle(Invocation& invocation, Outcome&& outcome) {
  if constexpr (Returned<std::remove_cvref_t<Outcome>>::is_result) {
    if (!outcome) {
      invocation.error = outcome.error();
    } else if constexpr (!std::is_void_v<typename Returned<std::remove_cvref_t<Outcome>>::Value>) {
      invocation.reply = Message::of(*outcome);
    }
  } else {
    invocation.reply = Message::of(outcome);
  }
}

template <typename Bound, typename P>
Task<void> run_task_handler(const Bound& bound, P packet, Invocation& invocation) {
  using R = decltype(bound(invocation, packet));
  if constexpr (std::is_same_v<R, Task<void>>) {
    co_await bound(invocation, packet);
  } else {
    settle(invocation, co_await bound(invocation, packet));
  }
}

// `bound(invocation, packet)` calls the member function. It is kept by the returned function, which
// the registration keeps as long as the application.
template <typename P, typename Bound>
registration::Invoke make_invoke(Bound bound) {
  return [bound](Invocation& invocation) -> Task<void> {
    using R = decltype(bound(invocation, std::declval<const P&>()));
    Result<P> packet = invocation.context->message().template decode<P>();
    if (!packet) {
      invocation.error = packet.error();
      invocation.is_undecodable = true;
      return {};
    }
    if constexpr (Returned<R>::is_task) {
      return run_task_handler<Bound, P>(bound, std::move(*packet), invocation);
    } else if constexpr (std::is_void_v<R>) {
      bound(invocation, *packet);
      return {};
    } else {
      settle(invocation, bound(invocation, *packet));
      return {};
    }
  };
}

template <typename Bound>
Task<void> run_task_timer(const Bound& bound, registration::TimerInvocation& invocation) {
  using R = decltype(bound(invocation));
  if constexpr (std::is_same_v<R, Task<void>>) {
    co_await bound(invocation);
  } else {
    Result<void> result = co_await bound(invocation);
    if (!result) invocation.error = result.error();
  }
}

template <typename Bound>
std::function<Task<void>(registration::TimerInvocation&)> make_timer_invoke(Bound bound) {
  return [bound](registration::TimerInvocation& invocation) -> Task<void> {
    using R = decltype(bound(invocation));
    static_assert(std::is_void_v<typename Returned<R>::Value>,
                  "a timer handler returns nothing: void, Result<void>, Task<void> or "
                  "Task<Result<void>>");
    if constexpr (Returned<R>::is_task) {
      return run_task_timer(bound, invocation);
    } else if constexpr (std::is_void_v<R>) {
      bound(invocation);
      return {};
    } else {
      Result<void> result = bound(invocation);
      if (!result) invocation.error = result.error();
      return {};
    }
  };
}

// Calls `(object.*member)(first…, packet[, context])`.
template <bool TakesContext, typename Object, typename Member, typename... Arguments>
decltype(auto) call_handler(Object& object, Member member, const Invocation& invocation,
                            Arguments&... arguments) {
  if constexpr (TakesContext) {
    return (object.*member)(arguments..., *invocation.context);
  } else {
    return (object.*member)(arguments...);
  }
}

template <typename Class, typename Member>
auto call_timer(Class& object, Member member, const TimerTick& tick) {
  using Parameters = typename MemberFunction<Member>::Parameters;
  if constexpr (std::is_same_v<Parameters, std::tuple<const TimerTick&>>) {
    return (object.*member)(tick);
  } else {
    static_assert(std::is_same_v<Parameters, std::tuple<>>,
                  "a timer handler takes nothing or (const TimerTick&)");
    return (object.*member)();
  }
}

}  // namespace spotmesh::detail

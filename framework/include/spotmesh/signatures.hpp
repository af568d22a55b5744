// Handler signatures taken apart at compile time.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <spotmesh/error.hpp>
#include <spotmesh/message_context.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh::detail {

template <typename T>
inline constexpr bool always_false = false;

// A member function pointer: its class, its parameters without reference and const, its result.
template <typename F>
struct MemberFunction {
  static_assert(always_false<F>, "register a member function: on.request(&Room::place_mark)");
};

template <typename R, typename C, bool IsConst, typename... Arguments>
struct MemberFunctionParts {
  using Return = R;
  using Class = C;
  using Parameters = std::tuple<Arguments...>;
  static constexpr bool is_const = IsConst;
};
template <typename R, typename C, typename... A>
struct MemberFunction<R (C::*)(A...)> : MemberFunctionParts<R, C, false, A...> {};
template <typename R, typename C, typename... A>
struct MemberFunction<R (C::*)(A...) noexcept> : MemberFunctionParts<R, C, false, A...> {};
template <typename R, typename C, typename... A>
struct MemberFunction<R (C::*)(A...) const> : MemberFunctionParts<R, C, true, A...> {};
template <typename R, typename C, typename... A>
struct MemberFunction<R (C::*)(A...) const noexcept> : MemberFunctionParts<R, C, true, A...> {};

template <typename Tuple>
struct WithoutMessageContext {
  using type = Tuple;
  static constexpr bool had_context = false;
};
template <typename A>
struct WithoutMessageContext<std::tuple<A, const MessageContext&>> {
  using type = std::tuple<A>;
  static constexpr bool had_context = true;
};
template <typename A, typename B>
struct WithoutMessageContext<std::tuple<A, B, const MessageContext&>> {
  using type = std::tuple<A, B>;
  static constexpr bool had_context = true;
};

// What a handler returns, without Task and Result around it.
template <typename R>
struct Returned {
  using Value = R;
  static constexpr bool is_task = false;
  static constexpr bool is_result = false;
};
template <typename T>
struct Returned<Result<T>> {
  using Value = T;
  static constexpr bool is_task = false;
  static constexpr bool is_result = true;
};
template <typename R>
struct Returned<Task<R>> : Returned<R> {
  static constexpr bool is_task = true;
};

}  // namespace spotmesh::detail
